/* "did you mean": of the names that there are, the one nearest to a name that there is not.
 *
 *     kn_guess s = kn_guess_new("softmx");
 *     for (...)
 *         kn_guess_try(&s, name);
 *     kn_fail(KN_ARGUMENT, "there is no '%s'%s", "softmx", kn_guess_text(&s));
 */
#ifndef KN_BASE_GUESS_H
#define KN_BASE_GUESS_H

typedef struct kn_guess {
    const char *wrong, *best;
    int distance; /* best's; others must be nearer */
    char text[96];
} kn_guess;

/* Both keep the pointers that they are given. */
kn_guess kn_guess_new(const char *wrong);
void kn_guess_try(kn_guess *s, const char *name);

/* "; did you mean 'softmax'?", or "" where no name is near. Belongs to the guess. */
const char *kn_guess_text(kn_guess *s);

#endif
