/* Which code generator this is, to the byte: a digest, made by the build, of everything that decides how quick the code
 * for a plan is. What was measured with one generator says nothing of another. */
#ifndef KN_CODEGEN_GENERATOR_H
#define KN_CODEGEN_GENERATOR_H

extern const char kn_generator[];

#endif
