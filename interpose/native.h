/* HIP's streams for native runtimes of the same process. */
#ifndef HRX_INTERPOSE_NATIVE_H
#define HRX_INTERPOSE_NATIVE_H

/* Offers them: hrx handles this process's HIP calls. Before main. */
void native_offer(void);

#endif
