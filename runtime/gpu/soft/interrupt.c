#include "gpu/soft/interrupt.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "base/clocktime.h"
#include "base/futex.h"

_Atomic bool interrupt_flag;
_Atomic uint32_t interrupt_resident;

static _Atomic pid_t asked, watched;    /* the process that has decided; whose watcher lives */
static _Atomic uint32_t requests, told; /* words to sleep on */

static const uint64_t REPORT_NS = 3000000000, LOOK_NS = 5000000;

/* Async-signal-safe: atomics and system calls only. */
static void interrupted(int number) {
  int saved_errno = errno;
  struct sigaction now;
  /* SA_RESETHAND has made it the default one. Anything else is a handler of the program that passes the signal on to what it
   * found, as if that were more than the default action: then this is nobody's end. */
  bool passed_on =
      sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_DFL && now.sa_handler != interrupted;
  if (!passed_on) {
    if (interrupt_resident != 0 && watched == getpid()) {
      interrupt_flag = true;
      requests++;
      futex_wake(&requests, 1);
    } else {
      signal(number, SIG_DFL);
      raise(number); /* blocked until the handler returns */
    }
  }
  errno = saved_errno;
}

static void *watch(void *context) {
  (void)context;
  pthread_setname_np(pthread_self(), "hrx-interrupt");
  for (;;) {
    while (requests == 0) futex_wait(&requests, 0, UINT64_MAX);
    uint64_t deadline = time_now_ns() + REPORT_NS;
    for (uint32_t seen = told; seen < interrupt_resident && time_now_ns() < deadline; seen = told)
      futex_wait(&told, seen, time_now_ns() + LOOK_NS);
    kill(getpid(), SIGINT);
    /* whoever is still here has a handler by now */
    interrupt_flag = false;
    requests = told = 0;
  }
  return NULL;
}

void interrupt_watch(void) {
  pid_t self = getpid();
  if (atomic_exchange(&asked, self) == self) return;
  struct sigaction now;
  if (sigaction(SIGINT, NULL, &now) != 0 || (now.sa_handler != SIG_DFL && now.sa_handler != interrupted)) return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  bool started = pthread_create(&thread, NULL, watch, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!started) return;
  pthread_detach(thread);
  watched = self;
  struct sigaction ours = {.sa_handler = interrupted, .sa_flags = (int)(SA_RESTART | SA_RESETHAND)};
  sigemptyset(&ours.sa_mask);
  if (sigaction(SIGINT, &ours, &now) != 0) return;
  /* the program was quicker */
  if (now.sa_handler != SIG_DFL && now.sa_handler != interrupted) sigaction(SIGINT, &now, NULL);
}

void interrupt_told(void) {
  told++;
  futex_wake(&told, 1);
}

void interrupt_fork_child(void) {
  interrupt_flag = false;
  interrupt_resident = requests = told = 0;
}
