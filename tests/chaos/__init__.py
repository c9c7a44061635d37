"""What the world does to a real server in real time: each thing that it waits for paused, slow, failing and full.

Virtual time and memory streams hide whatever really blocks. So a server process is run here over pipes, files and
sockets that misbehave on command, and is asked to answer, to cancel and to go down meanwhile.
"""
