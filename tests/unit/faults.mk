# Tests that make requests fail (tests/unit/fault_injection.h): what they replace in hrx's objects.
FAULT_TESTS := $(patsubst %.c,$(B)/%,$(wildcard tests/unit/faults_*.c))
FAULT_NAMES := malloc calloc realloc aligned_alloc strdup strndup asprintf free mmap munmap mprotect open_memstream fopen open memfd_create \
  eventfd read write dlopen pthread_key_create pthread_atfork elf_memory elf_getdata_rawchunk msgpack_unpack_next json_loadb ZSTD_createDCtx inflateInit_ \
  pthread_create soft_device_create npu_soft_create

$(FAULT_TESTS): UNIT_LINK = $(FAULT_NAMES:%=-Wl,--wrap=%)
$(FAULT_TESTS): tests/unit/faults.mk | $(FIXTURES) $(FIXTURE_DIR)/native.co $(NPU_PROGRAMS)
