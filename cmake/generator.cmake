# Writes OUTPUT, a C file that defines kn_generator: a digest of the FILES' contents, for keys of what was learnt with
# the code that they are.
foreach(file IN LISTS FILES)
    file(SHA256 ${file} digest)
    string(APPEND digests ${digest})
endforeach()
string(SHA256 digest "${digests}")
string(SUBSTRING ${digest} 0 32 digest)
file(WRITE ${OUTPUT} "#include \"codegen/emit/cuda/generator.h\"\n\nconst char kn_generator[] = \"${digest}\";\n")
