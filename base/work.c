#include "base/work.h"

static _Thread_local int64_t done;

void kn_work(int64_t steps) { done += steps; }
int64_t kn_work_done(void) { return done; }
