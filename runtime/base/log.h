/* The log: lines to stderr, or to HRX_LOG_FILE. Never stdout, which belongs to the program.
 *
 * A line is written by one write(2), so that lines of several threads do not mix. Any thread; takes no lock
 * and allocates nothing. Not from signal handlers (it formats). */
#ifndef HRX_BASE_LOG_H
#define HRX_BASE_LOG_H

enum log_level { LOG_ERROR = 0, LOG_WARN, LOG_INFO, LOG_TRACE };

/* Writes "hrx: " + message + newline if HRX_LOG (default warn) is at least `level`. Cut at 2,000 bytes. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether log_line would write: to skip work that only the log needs. One load. */
int log_enabled(enum log_level level);

/* Another level than HRX_LOG's from now on; -1: that one again. Any thread. */
void log_level_set(int level);

#endif
