// Elements from their neighbours.
__kernel void stencil(__global const float *x, __global float *out, uint n) {
    size_t i = get_global_id(0);
    float before = i > 0 ? x[i - 1] : 0, behind = i + 1 < n ? x[i + 1] : 0;
    out[i] = before * 0.25f + x[i] * 0.5f + behind * 0.25f;
}

__kernel void stencil_2d(__global const float *plate, __global float *out, uint width, uint height) {
    size_t x = get_global_id(0), y = get_global_id(1), at = y * width + x;
    if (x > 0 && x < width - 1 && y > 0 && y < height - 1)
        out[at] = (plate[at - width] + plate[at - 1] + plate[at + 1] + plate[at + width]) * 0.25f;
    else
        out[at] = plate[at];
}

__kernel void stencil_3d(__global const float *box, __global float *out, uint wide, uint high, uint deep) {
    size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    size_t layer = (size_t)wide * high, at = z * layer + y * wide + x;
    if (x > 0 && x < wide - 1 && y > 0 && y < high - 1 && z > 0 && z < deep - 1) {
        float near = box[at - 1] + box[at + 1] + box[at - wide] + box[at + wide] + box[at - layer] + box[at + layer];
        out[at] = box[at] * 0.25f + near * 0.125f;
    } else
        out[at] = box[at];
}
