/* module.c - the only file that uses MPI. It is compiled once for each installed MPI, and loaded by
 * src/evaluate/ranks.c if that MPI's launcher started the process. One lock makes MPI_THREAD_SERIALIZED sufficient. */
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "evaluate/ranks.h"

enum { TAG = 7 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool send_bytes(int to, const char *bytes, size_t length) {
  if (length > (1 << 30)) return false;
  pthread_mutex_lock(&lock);
  const int code = MPI_Send(bytes, (int)length, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
  pthread_mutex_unlock(&lock);
  return code == MPI_SUCCESS;
}

static char *receive_bytes(int *from) {
  int there = 0, length = 0;
  MPI_Status status;
  char *bytes = NULL;
  pthread_mutex_lock(&lock);
  if (MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &there, &status) == MPI_SUCCESS && there) {
    MPI_Get_count(&status, MPI_BYTE, &length);
    *from = status.MPI_SOURCE;
    bytes = malloc((size_t)length + 1);
    if (!bytes) MPI_Abort(MPI_COMM_WORLD, 3); /* an unreceived message would be probed again forever */
    MPI_Recv(bytes, length, MPI_BYTE, *from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    bytes[length] = '\0'; /* NOLINT(clang-analyzer-core.NullDereference): MPI_Abort does not return */
  }
  pthread_mutex_unlock(&lock);
  return bytes;
}

static void close_mpi(void) { MPI_Finalize(); }

__attribute__((visibility("default"))) int tilewright_mpi_open(tw_ranks *);
int tilewright_mpi_open(tw_ranks *r) {
  int provided;
  MPI_Comm here;
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS || provided < MPI_THREAD_SERIALIZED)
    return 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &r->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &r->size);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  MPI_Comm_size(here, &r->local);
  MPI_Comm_free(&here);
  r->send = send_bytes;
  r->receive = receive_bytes;
  r->close = close_mpi;
  return 0;
}
