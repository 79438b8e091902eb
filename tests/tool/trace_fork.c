/* Work, then a child that leaves by exit, then more work. With an argument the child works too, and the parent only after it, because
 * a child of a process that had used the GPU cannot. */
#include <hip/hip_runtime_api.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int work(size_t bytes) {
  void *memory = NULL;
  return hipMalloc(&memory, bytes) != hipSuccess || hipMemset(memory, 1, bytes) != hipSuccess ||
         hipDeviceSynchronize() != hipSuccess || hipFree(memory) != hipSuccess;
}

int main(int count, char **arguments) {
  (void)arguments;
  int status = -1, wrong = 0;
  if (count == 1) wrong |= work(1000);
  pid_t child = fork();
  if (child == 0) exit(count == 1 ? 0 : work(2000));
  wrong |= waitpid(child, &status, 0) != child || status != 0;
  return wrong | work(3000);
}
