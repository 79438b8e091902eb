/* hiprtc programs that are compiled to bitcode, to be linked later (-fgpu-rdc), which the library that hiprtc is forwarded to cannot.
 *
 * A program's sources are kept beside the real library's handle. One thread at a time uses a program. */
#ifndef HRX_INTERPOSE_HIPRTC_BITCODE_H
#define HRX_INTERPOSE_HIPRTC_BITCODE_H

#include <hip/hiprtc.h>
#include <stdbool.h>
#include <stddef.h>

/* Keeps copies of what the program was made from. Without memory for them the program can only be compiled to code. */
void bitcode_program_add(hiprtcProgram program, const char *source, const char *name, int header_count, const char *const *headers,
                         const char *const *include_names);
void bitcode_program_remove(hiprtcProgram program);

/* Whether the options ask for bitcode. */
bool bitcode_wanted(int count, const char *const *options);

/* Compiles to bitcode. Errors: HIPRTC_ERROR_COMPILATION, with a log; INTERNAL_ERROR if there is no compiler. */
hiprtcResult bitcode_compile(hiprtcProgram program, int count, const char *const *options);

/* Whether the program was compiled so, if it was at all: then its log is here. */
bool bitcode_program(hiprtcProgram program);
const char *bitcode_log(hiprtcProgram program);

#endif
