/* The commands: one function each. They print their result to standard output and return an exit
 * status, with the message of a failure in *e. */
#ifndef KN_CLI_COMMANDS_H
#define KN_CLI_COMMANDS_H

#include "cli/args.h"

int kn_cmd_run(const kn_args *args, kn_err *e);
int kn_cmd_eval(const kn_args *args, kn_err *e);
int kn_cmd_bench(const kn_args *args, kn_err *e);
int kn_cmd_explain(const kn_args *args, kn_err *e);
int kn_cmd_emit(const kn_args *args, kn_err *e);
int kn_cmd_kernel(const kn_args *args, kn_err *e);
int kn_cmd_cache(const kn_args *args, kn_err *e);
int kn_cmd_doctor(const kn_args *args, kn_err *e);

#endif
