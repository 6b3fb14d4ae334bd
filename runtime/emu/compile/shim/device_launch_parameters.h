// Everything of it that kernels use is there already.
#pragma once
