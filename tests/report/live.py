#!/usr/bin/env python3
"""live.py COMMAND FOLDER: the server of `tune --watch`. It answers on 127.0.0.1 alone, to those who know the token, GET and HEAD alone;
bad requests do not end it, and the search goes on beside it. 77: this build has no server."""
import json
import re
import shutil
import signal
import socket
import subprocess
import sys

command, folder = sys.argv[1], sys.argv[2]
shutil.rmtree(folder, ignore_errors=True)
search = subprocess.Popen(
    [command, "tune", "gemm", "m=512", "n=512", "k=512", "-t", "xdna2", "--out", folder, "--watch", "--no-wisdom", "--jobs", "1",
     "--iterations", "1000", "--beam", "16", "--samples", "100000"],
    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def end(status, why=""):
    search.send_signal(signal.SIGKILL)
    search.wait()
    print(why or "ok")
    sys.exit(status)


address = None
for line in search.stdout:
    address = re.search(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", line)
    if "libmicrohttpd" in line or "node-d3" in line:
        end(77, line)
    if address:
        break
if not address:
    end(1, "no address was printed")
port, token = int(address[1]), address[2]


def send(data, host="127.0.0.1"):
    """All that comes back, as bytes."""
    answer = b""
    with socket.create_connection((host, port), timeout=20) as s:
        try:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # refused before all was sent
        try:
            while part := s.recv(65536):
                answer += part
        except ConnectionResetError:
            pass
    return answer


def ask(path, method="GET", host=None, version="1.1", more=""):
    host = f"Host: {host or f'127.0.0.1:{port}'}\r\n" if host != "" else ""
    answer = send(f"{method} {path} HTTP/{version}\r\n{host}Connection: close\r\n{more}\r\n".encode())
    head, _, body = answer.partition(b"\r\n\r\n")
    status = re.match(rb"HTTP/1\.[01] (\d+)", head)
    return int(status[1]) if status else 0, head.decode("latin1").lower(), body


def expect(status, path, **how):
    found, head, body = ask(path, **how)
    if found != status:
        end(1, f"{how} {path[:80]}: {found} instead of {status}")
    return head, body


root = f"/{token}/"
head, body = expect(200, root)
if b"<html" not in body.lower() or "no-store" not in head or "nosniff" not in head or "x-frame-options: deny" not in head:
    end(1, f"the page lacks something: {head}")
head, body = expect(200, root + "data")
data = json.loads(body)
if "runs" not in data or "application/json" not in head:
    end(1, f"no data: {body[:200]}")
if "access-control-allow-origin" in head:
    end(1, "other origins may read the data")
_, body = expect(200, root, method="HEAD")
if body:
    end(1, "HEAD has a body")
expect(200, root, host=f"localhost:{port}")

# Without the token, or with part of it
other = ("0" if token[0] != "0" else "1") + token[1:]
for path in ("/", "//", "/data", f"/{other}/", f"/{other}/data", f"/{token[:-1]}/", f"/{token[:16]}", f"/{token.upper()}x/",
             f"/{token}", f"/{token}x/", root + "../", root + "../../etc/passwd", root + "data/", root + "journal.sqlite",
             root + "%2e%2e/data", root + "source", root + "source?n=x", root + "source?n=-1", root + "source?n=99999999",
             root + "source?n=99999999999999999999"):
    expect(404, path)
# Read-only
for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"):
    expect(405, root, method=method, more="Content-Length: 0\r\n")
# Another name that leads here, or none
for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port}.evil.example"):
    expect(403, root, host=host)
expect(403, root, host="", version="1.0")
# No HTTP, and too much of it: any refusal, and the server lives on
for data in (b"", b"\0" * 5000, b"GET\r\n\r\n", b"\r\n\r\n\r\n", b"GET " + b"/a" * 100000 + b" HTTP/1.1\r\n\r\n", b"\xff" * 300 + b"\r\n\r\n",
             b"GET / HTTP/9.9\r\nHost: x\r\n\r\n", b"GET %b HTTP/1.1\r\n" % root.encode() + b"A: b\r\n" * 20000 + b"\r\n",
             b"POST %b HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 99999999999999999999\r\n\r\n" % (root.encode(), port)):
    if re.match(rb"HTTP/1\.[01] 200", send(data)):
        end(1, f"{data[:40]} is answered")
# Connections that say nothing do not keep others out
silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(8)]
expect(200, root + "data")
for s in silent:
    s.close()
# Another address of this computer
try:
    socket.create_connection(("127.0.0.2", port), timeout=5)
    end(1, "the server listens on other addresses than 127.0.0.1")
except OSError:
    pass
if search.poll() is not None:
    end(1, f"the search ended with {search.returncode}")
end(0)
