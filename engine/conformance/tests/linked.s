// This file lets the compiler take functions without a body, which are linked to their bodies by name.
