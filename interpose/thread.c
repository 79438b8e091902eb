#include "interpose/thread.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "interpose/context.h"
#include "interpose/launch.h"
#include "interpose/stream.h"

_Thread_local struct thread_state thread_state __attribute__((tls_model("initial-exec")));

_Atomic int thread_first_device;

static pthread_key_t key;
static bool key_valid;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void thread_ended(void *value) {
  struct thread_state *state = value;
  hip_thread_streams_release(state->streams);
  thread_contexts_release(state->contexts);
  call_overflow_release(state->overflow);
  free(state->setup);
  state->streams = NULL;
  state->contexts = NULL;
  state->overflow = NULL;
  state->setup = NULL;
}

static void key_make(void) { key_valid = pthread_key_create(&key, thread_ended) == 0; }

void thread_at_exit(void) {
  pthread_once(&key_once, key_make);
  /* without a key the thread's few bytes stay allocated, which is the lesser harm */
  if (key_valid && pthread_getspecific(key) == NULL) pthread_setspecific(key, &thread_state);
}
