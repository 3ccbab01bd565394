"""Expressions that reach something."""

# %% a port
socket.create_connection(("127.0.0.1", PORT), 0.5)

# %% a port, by IPv6
socket.create_connection(("::ffff:127.0.0.1", PORT), 0.5)

# %% an abstract socket
socket.socket(socket.AF_UNIX).connect(ABSTRACT)

# %% a socket file
socket.socket(socket.AF_UNIX).connect(PATH)

# %% the internet
socket.create_connection(("192.0.2.1", 80), 0.5)

# %% UDP
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53))

# %% raw packets
socket.socket(socket.AF_PACKET, socket.SOCK_RAW)

# %% the kernel's routing
socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)

# %% a virtual machine's host
socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)

# %% a child that tries
subprocess.check_call([sys.executable, "-c", f'import socket; socket.create_connection(("127.0.0.1", {PORT}))'])
