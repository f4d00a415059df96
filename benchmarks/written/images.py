"""Images and other grids: a pixel from its neighbours, or from another place."""

import numpy as np

import vyre as vy
from written.pair import Array, Pair, f32, floats, octets, u32


@vy.kernel
def sobel(a: vy.Array[vy.u8, "h", "w"]) -> vy.Array[vy.u8, "h", "w"]:
    y, x = vy.index()
    h, w = a.shape
    if y == 0 or x == 0 or y == h - 1 or x == w - 1:
        return vy.u8(0)
    right = vy.i32(a[y - 1, x + 1]) + 2 * vy.i32(a[y, x + 1]) + vy.i32(a[y + 1, x + 1])
    left = vy.i32(a[y - 1, x - 1]) + 2 * vy.i32(a[y, x - 1]) + vy.i32(a[y + 1, x - 1])
    below = vy.i32(a[y + 1, x - 1]) + 2 * vy.i32(a[y + 1, x]) + vy.i32(a[y + 1, x + 1])
    above = vy.i32(a[y - 1, x - 1]) + 2 * vy.i32(a[y - 1, x]) + vy.i32(a[y - 1, x + 1])
    return vy.u8(vy.min(vy.abs(right - left) + vy.abs(below - above), 255))


def sobel_loops(a):
    i32 = np.int32
    h, w = a.shape
    out = np.zeros_like(a)
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            right = i32(a[y - 1, x + 1]) + 2 * i32(a[y, x + 1]) + i32(a[y + 1, x + 1])
            left = i32(a[y - 1, x - 1]) + 2 * i32(a[y, x - 1]) + i32(a[y + 1, x - 1])
            below = i32(a[y + 1, x - 1]) + 2 * i32(a[y + 1, x]) + i32(a[y + 1, x + 1])
            above = i32(a[y - 1, x - 1]) + 2 * i32(a[y - 1, x]) + i32(a[y - 1, x + 1])
            out[y, x] = min(abs(right - left) + abs(below - above), 255)
    return out


@vy.func
def ordered(a, b):
    return vy.min(a, b), vy.max(a, b)


@vy.kernel
def median(a: vy.Array[vy.u8, "h", "w"]) -> vy.Array[vy.u8, "h", "w"]:
    y, x = vy.index()
    h, w = a.shape
    if y == 0 or x == 0 or y == h - 1 or x == w - 1:
        return a[y, x]
    p0, p1, p2 = a[y - 1, x - 1], a[y - 1, x], a[y - 1, x + 1]
    p3, p4, p5 = a[y, x - 1], a[y, x], a[y, x + 1]
    p6, p7, p8 = a[y + 1, x - 1], a[y + 1, x], a[y + 1, x + 1]
    p1, p2 = ordered(p1, p2)
    p4, p5 = ordered(p4, p5)
    p7, p8 = ordered(p7, p8)
    p0, p1 = ordered(p0, p1)
    p3, p4 = ordered(p3, p4)
    p6, p7 = ordered(p6, p7)
    p1, p2 = ordered(p1, p2)
    p4, p5 = ordered(p4, p5)
    p7, p8 = ordered(p7, p8)
    p0, p3 = ordered(p0, p3)
    p5, p8 = ordered(p5, p8)
    p4, p7 = ordered(p4, p7)
    p3, p6 = ordered(p3, p6)
    p1, p4 = ordered(p1, p4)
    p2, p5 = ordered(p2, p5)
    p4, p7 = ordered(p4, p7)
    p4, p2 = ordered(p4, p2)
    p6, p4 = ordered(p6, p4)
    p4, p2 = ordered(p4, p2)
    return p4


def median_loops(a):
    h, w = a.shape
    out = a.copy()
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            p0, p1, p2 = a[y - 1, x - 1], a[y - 1, x], a[y - 1, x + 1]
            p3, p4, p5 = a[y, x - 1], a[y, x], a[y, x + 1]
            p6, p7, p8 = a[y + 1, x - 1], a[y + 1, x], a[y + 1, x + 1]
            p1, p2 = min(p1, p2), max(p1, p2)
            p4, p5 = min(p4, p5), max(p4, p5)
            p7, p8 = min(p7, p8), max(p7, p8)
            p0, p1 = min(p0, p1), max(p0, p1)
            p3, p4 = min(p3, p4), max(p3, p4)
            p6, p7 = min(p6, p7), max(p6, p7)
            p1, p2 = min(p1, p2), max(p1, p2)
            p4, p5 = min(p4, p5), max(p4, p5)
            p7, p8 = min(p7, p8), max(p7, p8)
            p0, p3 = min(p0, p3), max(p0, p3)
            p5, p8 = min(p5, p8), max(p5, p8)
            p4, p7 = min(p4, p7), max(p4, p7)
            p3, p6 = min(p3, p6), max(p3, p6)
            p1, p4 = min(p1, p4), max(p1, p4)
            p2, p5 = min(p2, p5), max(p2, p5)
            p4, p7 = min(p4, p7), max(p4, p7)
            p4, p2 = min(p4, p2), max(p4, p2)
            p6, p4 = min(p6, p4), max(p6, p4)
            p4, p2 = min(p4, p2), max(p4, p2)
            out[y, x] = p4
    return out


@vy.kernel(shape=("h", "w"))
def gray(a: vy.Array[vy.u8, "h", "w", 3], out: vy.Out[vy.u8, "h", "w"]) -> None:
    y, x = vy.index()
    out[y, x] = vy.u8((vy.u32(a[y, x, 0]) * 77 + vy.u32(a[y, x, 1]) * 150 + vy.u32(a[y, x, 2]) * 29) >> 8)


def gray_loops(a):
    h, w, _ = a.shape
    out = np.empty((h, w), np.uint8)
    for y in range(h):
        for x in range(w):
            red, green, blue = u32(a[y, x, 0]), u32(a[y, x, 1]), u32(a[y, x, 2])
            out[y, x] = (red * u32(77) + green * u32(150) + blue * u32(29)) >> u32(8)
    return out


@vy.kernel(shape=("h", "w"))
def blend(a: vy.Array[vy.u8, "h", "w", 4], b: vy.Array[vy.u8, "h", "w", 4], out: vy.Out[vy.u8, "h", "w", 4]) -> None:
    y, x = vy.index()
    alpha = vy.u32(a[y, x, 3])
    for c in range(3):
        out[y, x, c] = vy.u8((vy.u32(a[y, x, c]) * alpha + vy.u32(b[y, x, c]) * (255 - alpha) + 127) // 255)
    out[y, x, 3] = 255


@vy.kernel(shape=("h", "w"))
def blend_written_out(
    a: vy.Array[vy.u8, "h", "w", 4], b: vy.Array[vy.u8, "h", "w", 4], out: vy.Out[vy.u8, "h", "w", 4]
) -> None:
    y, x = vy.index()
    alpha = vy.u32(a[y, x, 3])
    out[y, x, 0] = vy.u8((vy.u32(a[y, x, 0]) * alpha + vy.u32(b[y, x, 0]) * (255 - alpha) + 127) // 255)
    out[y, x, 1] = vy.u8((vy.u32(a[y, x, 1]) * alpha + vy.u32(b[y, x, 1]) * (255 - alpha) + 127) // 255)
    out[y, x, 2] = vy.u8((vy.u32(a[y, x, 2]) * alpha + vy.u32(b[y, x, 2]) * (255 - alpha) + 127) // 255)
    out[y, x, 3] = 255


def blend_loops(a, b):
    out = np.empty_like(a)
    for y in range(a.shape[0]):
        for x in range(a.shape[1]):
            alpha = u32(a[y, x, 3])
            for c in range(3):
                mixed = u32(a[y, x, c]) * alpha + u32(b[y, x, c]) * u32(255 - alpha)
                out[y, x, c] = (mixed + u32(127)) // u32(255)
            out[y, x, 3] = 255
    return out


@vy.kernel(shape=("h", "w"))
def brighten(a: vy.Array[vy.u8, "h", "w", 3], factor: vy.f32, out: vy.Out[vy.u8, "h", "w", 3]) -> None:
    y, x = vy.index()
    for c in range(3):
        out[y, x, c] = vy.u8(vy.min(vy.f32(a[y, x, c]) * factor, 255.0))


def brighten_loops(a, factor):
    out = np.empty_like(a)
    for y in range(a.shape[0]):
        for x in range(a.shape[1]):
            for c in range(3):
                out[y, x, c] = np.uint8(min(f32(a[y, x, c]) * factor, f32(255)))
    return out


@vy.kernel(shape=("h", "w"))
def colour_matrix(
    a: vy.Array[vy.f32, "h", "w", 3], m: vy.Array[vy.f32, 3, 3], out: vy.Out[vy.f32, "h", "w", 3]
) -> None:
    y, x = vy.index()
    for c in range(3):
        total = vy.f32(0)
        for d in range(3):
            total += m[c, d] * a[y, x, d]
        out[y, x, c] = total


def colour_matrix_loops(a, m):
    out = np.empty_like(a)
    for y in range(a.shape[0]):
        for x in range(a.shape[1]):
            for c in range(3):
                total = f32(0)
                for d in range(3):
                    total += m[c, d] * a[y, x, d]
                out[y, x, c] = total
    return out


@vy.kernel(shape=("h", "w"))
def resize(a: vy.Array[vy.f32, "H", "W"], out: vy.InOut[vy.f32, "h", "w"]) -> None:
    y, x = vy.index()
    height, width = a.shape
    h, w = out.shape
    from_y = vy.max((vy.f32(y) + 0.5) * (vy.f32(height) / vy.f32(h)) - 0.5, 0.0)
    from_x = vy.max((vy.f32(x) + 0.5) * (vy.f32(width) / vy.f32(w)) - 0.5, 0.0)
    y0, x0 = vy.u32(from_y), vy.u32(from_x)
    y1, x1 = vy.min(y0 + 1, height - 1), vy.min(x0 + 1, width - 1)
    ty, tx = from_y - vy.f32(y0), from_x - vy.f32(x0)
    above = a[y0, x0] * (1.0 - tx) + a[y0, x1] * tx
    below = a[y1, x0] * (1.0 - tx) + a[y1, x1] * tx
    out[y, x] = above * (1.0 - ty) + below * ty


def resize_loops(a, out):
    out = np.empty_like(out)
    height, width = a.shape
    h, w = out.shape
    for y in range(h):
        for x in range(w):
            from_y = max((f32(y) + f32(0.5)) * (f32(height) / f32(h)) - f32(0.5), f32(0))
            from_x = max((f32(x) + f32(0.5)) * (f32(width) / f32(w)) - f32(0.5), f32(0))
            y0, x0 = int(from_y), int(from_x)
            y1, x1 = min(y0 + 1, height - 1), min(x0 + 1, width - 1)
            ty, tx = from_y - f32(y0), from_x - f32(x0)
            above = a[y0, x0] * (f32(1) - tx) + a[y0, x1] * tx
            below = a[y1, x0] * (f32(1) - tx) + a[y1, x1] * tx
            out[y, x] = above * (f32(1) - ty) + below * ty
    return out


@vy.kernel(shape=("h", "w"))
def nearest(a: vy.Array[vy.u8, "H", "W", 3], step_y: vy.f32, step_x: vy.f32, out: vy.InOut[vy.u8, "h", "w", 3]) -> None:
    y, x = vy.index()
    from_y, from_x = vy.u32(vy.f32(y) * step_y), vy.u32(vy.f32(x) * step_x)
    for c in range(3):
        out[y, x, c] = a[from_y, from_x, c]


def nearest_loops(a, step_y, step_x, out):
    out = np.zeros_like(out)
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            from_y, from_x = int(f32(y) * step_y), int(f32(x) * step_x)
            if from_y < a.shape[0] and from_x < a.shape[1]:
                for c in range(3):
                    out[y, x, c] = a[from_y, from_x, c]
    return out


@vy.kernel
def rotate(a: vy.Array[vy.u8, "h", "w"], cosine: vy.f32, sine: vy.f32) -> vy.Array[vy.u8, "h", "w"]:
    y, x = vy.index()
    h, w = a.shape
    dy, dx = vy.f32(y) - vy.f32(h) * 0.5, vy.f32(x) - vy.f32(w) * 0.5
    from_x = cosine * dx - sine * dy + vy.f32(w) * 0.5
    from_y = sine * dx + cosine * dy + vy.f32(h) * 0.5
    if from_x < 0.0 or from_y < 0.0:
        return vy.u8(0)
    return a[vy.u32(from_y), vy.u32(from_x)]


def rotate_loops(a, cosine, sine):
    h, w = a.shape
    out = np.empty_like(a)
    for y in range(h):
        for x in range(w):
            dy, dx = f32(y) - f32(h) * f32(0.5), f32(x) - f32(w) * f32(0.5)
            from_x = cosine * dx - sine * dy + f32(w) * f32(0.5)
            from_y = sine * dx + cosine * dy + f32(h) * f32(0.5)
            value = 0
            if from_x >= 0 and from_y >= 0:
                column, row = int(from_x), int(from_y)
                if row < h and column < w:
                    value = a[row, column]
            out[y, x] = value
    return out


@vy.kernel(shape=("o", "h", "w"))
def convolution(
    a: vy.Array[vy.f32, "c", "H", "W"], k: vy.Array[vy.f32, "o", "c", 3, 3], out: vy.InOut[vy.f32, "o", "h", "w"]
) -> None:
    o, y, x = vy.index()
    total = vy.f32(0)
    for c in range(a.shape[0]):
        for i in range(3):
            for j in range(3):
                total += a[c, y + i, x + j] * k[o, c, i, j]
    out[o, y, x] = total


def convolution_loops(a, k, out):
    out = np.empty_like(out)
    for o in range(out.shape[0]):
        for y in range(out.shape[1]):
            for x in range(out.shape[2]):
                total = f32(0)
                for c in range(a.shape[0]):
                    for i in range(3):
                        for j in range(3):
                            total += a[c, y + i, x + j] * k[o, c, i, j]
                out[o, y, x] = total
    return out


@vy.kernel
def life(cells: vy.Array[vy.u8, "h", "w"]) -> vy.Array[vy.u8, "h", "w"]:
    y, x = vy.index()
    h, w = cells.shape
    up, down, left, right = (y + h - 1) % h, (y + 1) % h, (x + w - 1) % w, (x + 1) % w
    n = cells[up, left] + cells[up, x] + cells[up, right] + cells[y, left]
    n += cells[y, right] + cells[down, left] + cells[down, x] + cells[down, right]
    return vy.u8((n == 3) | ((n == 2) & (cells[y, x] == 1)))


def life_loops(cells):
    h, w = cells.shape
    out = np.empty_like(cells)
    for y in range(h):
        for x in range(w):
            up, down, left, right = (y + h - 1) % h, (y + 1) % h, (x + w - 1) % w, (x + 1) % w
            n = cells[up, left] + cells[up, x] + cells[up, right] + cells[y, left]
            n += cells[y, right] + cells[down, left] + cells[down, x] + cells[down, right]
            out[y, x] = 1 if (n == 3 or (n == 2 and cells[y, x] == 1)) else 0
    return out


@vy.kernel
def heat(a: vy.Array[vy.f32, "d", "h", "w"]) -> vy.Array[vy.f32, "d", "h", "w"]:
    z, y, x = vy.index()
    d, h, w = a.shape
    if z == 0 or y == 0 or x == 0 or z == d - 1 or y == h - 1 or x == w - 1:
        return a[z, y, x]
    near = a[z - 1, y, x] + a[z + 1, y, x] + a[z, y - 1, x] + a[z, y + 1, x] + a[z, y, x - 1] + a[z, y, x + 1]
    return a[z, y, x] + 0.1 * (near - 6.0 * a[z, y, x])


def heat_loops(a):
    d, h, w = a.shape
    out = a.copy()
    for z in range(1, d - 1):
        for y in range(1, h - 1):
            for x in range(1, w - 1):
                near = a[z - 1, y, x] + a[z + 1, y, x] + a[z, y - 1, x] + a[z, y + 1, x] + a[z, y, x - 1]
                near += a[z, y, x + 1]
                out[z, y, x] = a[z, y, x] + f32(0.1) * (near - f32(6) * a[z, y, x])
    return out


def square(side: int) -> tuple[Array]:
    return (octets(0, 256, side, side),)


def two_layers(height: int) -> tuple[Array, Array]:
    layers = octets(0, 256, 2, height, height * 4 // 3, 4)
    return layers[0], layers[1]


def colours(height: int) -> Array:
    return octets(0, 256, height, height * 4 // 3, 3)


def filters(side: int) -> tuple[Array, Array, Array]:
    return floats(8, side + 2, side + 2), floats(16, 8, 3, 3), np.zeros((16, side, side), f32)


PAIRS = {
    "Sobel": Pair(kernel=sobel, loops=sobel_loops, make=square, full=1000, toy=9),
    "median 3×3": Pair(kernel=median, loops=median_loops, make=square, full=1000, toy=9),
    "RGB to gray": Pair(
        kernel=gray, loops=gray_loops, make=lambda side: (octets(0, 256, side, side, 3),), full=1000, toy=9
    ),
    "alpha blend": Pair(kernel=blend, loops=blend_loops, make=two_layers, full=600, toy=9),
    "alpha blend, written out": Pair(kernel=blend_written_out, loops=blend_loops, make=two_layers, full=600, toy=9),
    "brighten": Pair(kernel=brighten, loops=brighten_loops, make=lambda h: (colours(h), f32(1.2)), full=600, toy=9),
    "colour matrix": Pair(
        kernel=colour_matrix,
        loops=colour_matrix_loops,
        make=lambda height: (floats(height, height * 4 // 3, 3), floats(3, 3)),
        full=600,
        toy=9,
    ),
    "bilinear resize": Pair(
        kernel=resize,
        loops=resize_loops,
        make=lambda side: (floats(side, side), np.zeros((side * 7 // 10, side * 8 // 10), f32)),
        full=1000,
        toy=9,
    ),
    "nearest neighbour resize": Pair(
        kernel=nearest,
        loops=nearest_loops,
        make=lambda h: (colours(h), f32(1.1), f32(1.2), np.zeros((h * 9 // 10, h * 11 // 10, 3), np.uint8)),
        full=600,
        toy=9,
    ),
    "rotate": Pair(
        kernel=rotate, loops=rotate_loops, make=lambda side: (*square(side), f32(0.9), f32(0.43)), full=1000, toy=9
    ),
    "convolution with channels": Pair(kernel=convolution, loops=convolution_loops, make=filters, full=64, toy=4),
    "life on a torus": Pair(
        kernel=life, loops=life_loops, make=lambda side: (octets(0, 2, side, side),), full=1000, toy=9
    ),
    "heat in 3D": Pair(kernel=heat, loops=heat_loops, make=lambda side: (floats(side, side, side),), full=100, toy=5),
}
