#include <inttypes.h>
#include <string.h>

#include "tool/inspection.h"

static void print_kernel(const struct inspected_code *code, uint32_t index, FILE *out) {
  const struct kernel_code *kernel = &code->object->kernels[index];
  fprintf(out, "  kernel %s\n", kernel->name);
  fprintf(out,
          "    wave%" PRIu32 ", %" PRIu32 " VGPRs, %" PRIu32 " SGPRs, %" PRIu32 " bytes of LDS, %" PRIu32
          " bytes of scratch%s, %" PRIu64 " bytes of code, up to %" PRIu32 " work-items a block\n",
          kernel->wave_lanes, kernel->vgpr_count, kernel->sgpr_count, kernel->group_segment_bytes,
          kernel->private_segment_bytes, kernel->dynamic_stack ? " and a dynamic stack" : "", kernel->code_bytes,
          kernel->max_workgroup);
  for (uint32_t i = 0; i < kernel->explicit_count; i++) {
    const struct kernel_argument *argument = &kernel->arguments[i];
    static const char *const accesses[] = {"", ", read only", ", write only", ", read and write"};
    enum argument_access access =
        argument->actual_access != ARGUMENT_ACCESS_UNKNOWN ? argument->actual_access : argument->access;
    fprintf(out, "    argument %" PRIu32 ": %s, %" PRIu32 " bytes at %" PRIu32 "%s%s%s\n", i,
            report_argument_kind(argument->kind), argument->bytes, argument->offset, accesses[access],
            argument->name[0] != '\0' ? ", " : "", argument->name);
  }
  if (kernel->argument_count > kernel->explicit_count)
    fprintf(out, "    and %" PRIu32 " hidden arguments\n", kernel->argument_count - kernel->explicit_count);
  if (code->kernels == NULL) return;
  if (code->kernels[index].refusal != NULL) fprintf(out, "    CANNOT RUN: %s\n", code->kernels[index].refusal);
  for (unsigned i = 0; i < code->kernels[index].missing_count; i++) {
    const struct missing_instruction *missing = &code->kernels[index].missing[i];
    fprintf(out, "    NOT IMPLEMENTED: %s (%08" PRIx32 "%s%.*" PRIx32 "), %u times\n", missing->mnemonic,
            missing->encoding[0], missing->size > 4 ? " " : "", missing->size > 4 ? 8 : 0,
            missing->size > 4 ? missing->encoding[1] : 0, missing->uses);
  }
}

static void print_code(const struct inspected_code *code, bool kernels, FILE *out) {
  fprintf(out, "code for %s, %zu bytes", code->target, code->size);
  if (code->object == NULL) {
    fprintf(out, ": BROKEN: %s\n", code->error);
    return;
  }
  fprintf(out, ", code object v%u, %" PRIu32 " kernels, %" PRIu32 " variables\n", code->object->version,
          code->object->kernel_count, code->object->variable_count);
  if (code->error[0] != '\0') fprintf(out, "  its instructions cannot be checked: %s\n", code->error);
  for (uint32_t i = 0; kernels && i < code->object->kernel_count; i++) print_kernel(code, i, out);
}

static void print_lack(const char *sentence, void *context) { fprintf(context, "  %s\n", sentence); }

void report_text(const struct inspection *inspection, FILE *out) {
  bool any_chosen = false;
  fprintf(out, "%s: %s\n", inspection->path, inspection_kind_name(inspection->kind));
  for (unsigned i = 0; i < inspection->code_count; i++) any_chosen |= inspection->codes[i].chosen;
  /* the other targets hold the same kernels once more: --json has them */
  for (unsigned i = 0; i < inspection->code_count; i++)
    print_code(&inspection->codes[i], inspection->codes[i].chosen || !any_chosen, out);
  for (unsigned i = 1; i < inspection->library_count; i++) {
    const struct inspected_library *library = &inspection->libraries[i];
    fprintf(out, "needs %s: %s\n", library->name,
            library->stand_in          ? "hrx stands in"
            : library->path[0] != '\0' ? library->path
                                       : "NOT FOUND");
  }
  for (unsigned i = 0; i < inspection->import_count; i++) {
    const struct inspected_import *import = &inspection->imports[i];
    fprintf(out, "imports %s: %s%s%s\n", import->name, policy_name(import->policy),
            strcmp(import->importer, inspection->libraries[0].name) != 0 ? ", for " : "",
            strcmp(import->importer, inspection->libraries[0].name) != 0 ? import->importer : "");
  }
  unsigned lacks = inspection_lacks(inspection, NULL, NULL);
  if (lacks == 0) {
    fprintf(out, "nothing is missing to run it on %s\n", inspection->arch);
    return;
  }
  fprintf(out, "missing to run it on %s: %u\n", inspection->arch, lacks);
  inspection_lacks(inspection, print_lack, out);
}
