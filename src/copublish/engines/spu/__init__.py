"""The secure engine: SecretFlow SPU in a process of its own at every compute node, and guests that share inputs."""
