"""Behind `calibrate`: scores paired with labels, the sweep, the certificate, held-out looks, what to label next."""
