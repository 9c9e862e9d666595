"""Programs on secrets: joint counts, maxima, noise. Their results are secret and NOT safe to open as they are."""
