/* What NumPy or Python has and kiln has not, and what to write instead. */
#ifndef KN_FRONTEND_PARSE_MISSING_H
#define KN_FRONTEND_PARSE_MISSING_H

/* What to write instead of a function, method or keyword of that name, or NULL where nothing is known of it. The advice
 * for "matmul" is that for every product of matrices. */
const char *kn_missing_advice(const char *name);

#endif
