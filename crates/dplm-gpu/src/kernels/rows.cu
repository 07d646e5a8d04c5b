// What rows are asked besides the step: bounds, counts, squares, outer products, weighted sums and
// re-encoding, for cards from compute capability 8 on. Each rule is that of `lattice/` in the same
// numbers: what is not exact there (a root, a quotient, a factor) is rounded alike here, as IEEE
// 754 says, and nothing is contracted (-fmad=false; `fma` is written where sums are exact).
//
// A row block has 32 rows and lies column by column, the response last. Rows beyond the last are
// zeros.

#include <cstdint>

typedef unsigned long long u64;
typedef long long i64;
typedef unsigned __int128 u128;

namespace {

constexpr unsigned ALL = 0xffffffffu;
constexpr int ROWS = 32;
// Adding this leaves a double no bits for a fraction.
constexpr double WHOLE = 6755399441055744.0;
constexpr double LARGEST_CELL = 524288.0;
// The upper half of a weight is a multiple of 2^27.
constexpr double HALF = 134217728.0;

// Some row blocks.
struct Rows {
    const float* cells;
    u64 blocks;
    int features;

    __device__ const float* block(u64 index) const { return cells + index * (features + 1) * ROWS; }
};

__device__ __forceinline__ u64 first_warp() { return (static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x) / 32; }
__device__ __forceinline__ u64 all_warps() { return static_cast<u64>(gridDim.x) * blockDim.x / 32; }
__device__ __forceinline__ int lane() { return threadIdx.x % 32; }

// A lane's row of a block: below 2^52, as `kernel::norms_sq`.
__device__ __forceinline__ double norm_sq(const Rows& rows, const float* row) {
    double sum = 0.0;
#pragma unroll 8
    for (int j = 0; j < rows.features; ++j) {
        double x = row[j * ROWS];
        sum = fma(x, x, sum);
    }
    return sum;
}

// `theta` is -theta, then its unit for the response.
__device__ __forceinline__ double residual(const Rows& rows, const float* row, const double* theta) {
    double sum = 0.0;
#pragma unroll 8
    for (int j = 0; j <= rows.features; ++j) sum = fma(static_cast<double>(row[j * ROWS]), __ldg(&theta[j]), sum);
    return sum;
}

__device__ __forceinline__ void both(const Rows& rows, const float* row, const double* theta, double& norm, double& residual) {
    norm = 0.0;
    residual = 0.0;
#pragma unroll 8
    for (int j = 0; j < rows.features; ++j) {
        double x = row[j * ROWS];
        norm = fma(x, x, norm);
        residual = fma(x, __ldg(&theta[j]), residual);
    }
    residual = fma(static_cast<double>(row[rows.features * ROWS]), __ldg(&theta[rows.features]), residual);
}

__device__ __forceinline__ float whole_down(double value) { return floorf(__double2float_rd(value)); }

// `Clip::bound`: the largest whole float `B` with `B^2 norm_sq <= gamma^2`. The estimate is so near
// that no product passes 2^127.
__device__ __forceinline__ float bound_of(u64 gamma, double norm_sq) {
    if (norm_sq == 0.0) return 0.0f;
    u128 gamma_sq = static_cast<u128>(gamma) * gamma;
    float bound = whole_down(static_cast<double>(gamma) / sqrt(norm_sq));
    while (true) {
        u64 whole = static_cast<u64>(bound);
        if (static_cast<u128>(whole) * whole * static_cast<u64>(norm_sq) <= gamma_sq) return bound;
        bound = floorf(__uint_as_float(__float_as_uint(bound) - 1));
    }
}

__device__ __forceinline__ u64 sum_of_warp(u64 value) {
#pragma unroll
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(ALL, value, other);
    return value;
}

}  // namespace

// The bound of each row.
extern "C" __global__ void bounds(Rows rows, u64 gamma, float* out) {
    for (u64 block = first_warp(); block < rows.blocks; block += all_warps())
        out[block * ROWS + lane()] = bound_of(gamma, norm_sq(rows, rows.block(block) + lane()));
}

// How many rows are clipped: |r| > B. A row of zeros is not.
extern "C" __global__ void clipped(Rows rows, const double* theta, const float* bounds, u64* count) {
    u64 found = 0;
    for (u64 block = first_warp(); block < rows.blocks; block += all_warps()) {
        double norm, r;
        both(rows, rows.block(block) + lane(), theta, norm, r);
        found += fabs(r) > static_cast<double>(bounds[block * ROWS + lane()]) && norm > 0.0;
    }
    found = sum_of_warp(found);
    if (lane() == 0) atomicAdd(count, found);
}

// The sum of `floor(||X_i clamp(r_i)||^2 / 2^shift)`, in two limbs; a term is below 2^63.
extern "C" __global__ void squares(Rows rows, const double* theta, const float* bounds, int shift, u64* limbs) {
    u64 low = 0, high = 0;
    for (u64 block = first_warp(); block < rows.blocks; block += all_warps()) {
        double norm, r;
        both(rows, rows.block(block) + lane(), theta, norm, r);
        u64 weight = static_cast<u64>(fmin(fabs(r), static_cast<double>(bounds[block * ROWS + lane()])));
        u64 square = static_cast<u64>((static_cast<u128>(weight) * weight * static_cast<u64>(norm)) >> shift);
        low += static_cast<uint32_t>(square);
        high += square >> 32;
    }
    low = sum_of_warp(low);
    high = sum_of_warp(high);
    if (lane() == 0) {
        atomicAdd(&limbs[0], low);
        atomicAdd(&limbs[1], high);
    }
}

namespace {

// What is compared with the thresholds of a ladder.
enum Measure { NORM, GRADIENT, RESIDUAL };

__device__ __forceinline__ bool is_above(int measure, u64 threshold, double norm, double size) {
    switch (measure) {
        case NORM: return static_cast<u64>(norm) > static_cast<u128>(threshold) * threshold;
        case GRADIENT: return size > static_cast<double>(bound_of(threshold, norm));
        default: return size > static_cast<double>(threshold);
    }
}

}  // namespace

// Adds to `counts[i]` how many rows are above exactly `i` of the thresholds, which ascend. A row of
// zeros is above none.
extern "C" __global__ void tally(Rows rows, const double* theta, int measure, const u64* thresholds, int length, u64* counts) {
    extern __shared__ unsigned found[];
    for (int i = threadIdx.x; i <= length; i += blockDim.x) found[i] = 0;
    __syncthreads();
    for (u64 block = first_warp(); block < rows.blocks; block += all_warps()) {
        const float* row = rows.block(block) + lane();
        double norm, size = 0.0;
        if (measure == NORM) {
            norm = norm_sq(rows, row);
        } else {
            both(rows, row, theta, norm, size);
            size = fabs(size);
        }
        int low = 0, high = norm > 0.0 ? length : 0;
        while (low < high) {
            int middle = (low + high) / 2;
            if (is_above(measure, __ldg(&thresholds[middle]), norm, size)) low = middle + 1;
            else high = middle;
        }
        atomicAdd(&found[low], 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i <= length; i += blockDim.x)
        if (found[i] != 0) atomicAdd(&counts[i], static_cast<u64>(found[i]));
}

namespace {

// Which rows an outer product takes, or what is summed with them.
enum Rule { EVERY, UNCLIPPED, WITHIN, CLAMPED };

// The squared norm of a row that is multiplied and cut towards zero: at most that of the row.
__device__ double cut_norm_sq(const Rows& rows, const float* row, double factor) {
    double sum = 0.0;
    for (int j = 0; j < rows.features; ++j) {
        double x = trunc(static_cast<double>(row[j * ROWS]) * factor);
        sum = fma(x, x, sum);
    }
    return sum;
}

// `outer::factor`: with it the row, multiplied and cut, has squared norm at most `radius^2`.
__device__ double shrinking(const Rows& rows, const float* row, double norm, u64 radius) {
    u128 radius_sq = static_cast<u128>(radius) * radius;
    if (static_cast<u64>(norm) <= radius_sq) return 1.0;
    double factor = static_cast<double>(radius) / sqrt(norm);
    while (static_cast<u64>(cut_norm_sq(rows, row, factor)) > radius_sq) factor *= 1.0 - 1e-6;
    return factor;
}

}  // namespace

// For each row the factor it is multiplied by, 0 where it is left out; or, by the last rule, its
// clamped residual.
extern "C" __global__ void factors(Rows rows, const double* theta, const float* bounds, int rule, u64 radius, u64 most, double* out) {
    for (u64 block = first_warp(); block < rows.blocks; block += all_warps()) {
        const float* row = rows.block(block) + lane();
        u64 place = block * ROWS + lane();
        if (rule == CLAMPED) {
            double bound = bounds[place];
            out[place] = fmin(fmax(residual(rows, row, theta), -bound), bound);
            continue;
        }
        double norm, r = 0.0;
        if (rule == EVERY) norm = norm_sq(rows, row);
        else both(rows, row, theta, norm, r);
        bool taken = rule == EVERY || fabs(r) <= (rule == UNCLIPPED ? static_cast<double>(bounds[place]) : static_cast<double>(most));
        out[place] = taken ? shrinking(rows, row, norm, radius) : 0.0;
    }
}

namespace {

constexpr int WEIGHTED_THREADS = 512;
constexpr int WEIGHTED_COLUMNS = 4;
constexpr int WINDOW = WEIGHTED_THREADS / 32 * 4 * WEIGHTED_COLUMNS;

}  // namespace

// `sum_i X_i w_i` for given weights of at most 2^53, split in halves: products of at most 2^45, of
// which 2^8 are summed before they become integers. Blocks of threads in the second dimension have
// other columns. A lane has four rows of four columns.
extern "C" __global__ void __launch_bounds__(WEIGHTED_THREADS) weighted(Rows rows, const double* weights, u64* limbs) {
    constexpr int Q = WEIGHTED_COLUMNS, BLOCKS_PER_FLUSH = 64;
    int rows_of = lane() % 8, start = blockIdx.y * WINDOW + threadIdx.x / 32 * 4 * Q + lane() / 8;
    double lower[Q] = {}, upper[Q] = {};
    i64 sums[2][Q][2] = {};
    int since_flush = 0;
    for (u64 block = blockIdx.x;; block += gridDim.x) {
        bool ends = block >= rows.blocks;
        if (ends || since_flush == BLOCKS_PER_FLUSH) {
#pragma unroll
            for (int q = 0; q < Q; ++q) {
                i64 low = static_cast<i64>(lower[q]), high = static_cast<i64>(upper[q]);
                sums[0][q][0] += static_cast<uint32_t>(low);
                sums[0][q][1] += low >> 32;
                sums[1][q][0] += static_cast<uint32_t>(high);
                sums[1][q][1] += high >> 32;
                lower[q] = upper[q] = 0.0;
            }
            since_flush = 0;
        }
        if (ends) break;
        ++since_flush;
        const double2* given = reinterpret_cast<const double2*>(weights + block * ROWS) + 2 * rows_of;
        double2 first = __ldg(&given[0]), second = __ldg(&given[1]);
        double weight[4] = {first.x, first.y, second.x, second.y}, above[4];
#pragma unroll
        for (int row = 0; row < 4; ++row) {
            above[row] = rint(weight[row] * (1.0 / HALF));
            weight[row] = fma(-HALF, above[row], weight[row]);
        }
        const float4* cells = reinterpret_cast<const float4*>(rows.block(block)) + rows_of;
#pragma unroll
        for (int q = 0; q < Q; ++q) {
            int column = start + 4 * q;
            if (column < rows.features) {
                float4 x = cells[column * 8];
                double wide[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
                for (int row = 0; row < 4; ++row) {
                    lower[q] = fma(wide[row], weight[row], lower[q]);
                    upper[q] = fma(wide[row], above[row], upper[q]);
                }
            }
        }
    }
#pragma unroll
    for (int q = 0; q < Q; ++q) {
        int column = start + 4 * q;
#pragma unroll
        for (int part = 0; part < 2; ++part) {
#pragma unroll
            for (int limb = 0; limb < 2; ++limb) {
                i64 sum = sums[part][q][limb];
                sum += __shfl_xor_sync(ALL, sum, 1);
                sum += __shfl_xor_sync(ALL, sum, 2);
                sum += __shfl_xor_sync(ALL, sum, 4);
                if (rows_of == 0 && column < rows.features && sum != 0)
                    atomicAdd(&limbs[(part * rows.features + column) * 2 + limb], static_cast<u64>(sum));
            }
        }
    }
}

namespace {

constexpr int PANEL = 128;
// Columns are this far apart in shared memory, so that the lanes of a fragment are in different
// banks.
constexpr int STRIDE = 36;
constexpr int GRAM_THREADS = 512;
// A product is at most 2^38, so sums over 2^15 rows are at most 2^53.
constexpr int GRAM_BLOCKS_PER_FLUSH = 1 << 10;

// What a row contributes: its cells, its cells multiplied and cut towards zero, or a clipped
// gradient shifted down and cut.
enum Vector { CELLS, SCALED, GRADIENTS };

struct Gram {
    Rows rows;
    // A number for each row, but of cells.
    const double* factors;
    int vector;
    // Coefficients, and the response where it is one of the columns.
    int size;
    // The divisors of a gradient: `outer::GradientWork`.
    double unit, rest;
    // The upper triangle, column by column.
    u64* sums;
};

__device__ __forceinline__ float entry(const Gram& job, float cell, double factor) {
    if (job.vector == CELLS) return cell;
    if (job.vector == SCALED) return static_cast<float>(trunc(static_cast<double>(cell) * factor));
    double size = fabs(static_cast<double>(cell)), weight = fabs(factor);
    double upper = floor(weight / job.unit), lower = weight - upper * job.unit;
    double whole = size * upper + floor(size * lower / job.unit);
    return static_cast<float>(copysign(floor(whole / job.rest), static_cast<double>(cell) * factor));
}

// Brings the columns of a panel to shared memory; beyond the last they are zeros.
__device__ __forceinline__ void bring(const Gram& job, u64 block, int panel, float* to) {
    const float* cells = job.rows.block(block);
    for (int i = threadIdx.x; i < PANEL * ROWS; i += GRAM_THREADS) {
        int column = panel * PANEL + i / ROWS, row = i % ROWS;
        double factor = job.vector == CELLS ? 0.0 : __ldg(&job.factors[block * ROWS + row]);
        to[i / ROWS * STRIDE + row] = column < job.size ? entry(job, cells[column * ROWS + row], factor) : 0.0f;
    }
}

__device__ __forceinline__ void multiply(double (&sums)[2], double left, double right) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(sums[0]), "+d"(sums[1])
        : "d"(left), "d"(right));
}

}  // namespace

// The sums of products of all pairs of columns. Blocks of threads in the second dimension have
// other pairs of panels, and each of 16 warps a tile of 32 by 32 columns of one. With at most 2^24
// rows a sum is at most 2^62.
extern "C" __global__ void __launch_bounds__(GRAM_THREADS) gram(Gram job) {
    __shared__ float panels[2][PANEL * STRIDE];
    int right_panel = 0, left_panel = blockIdx.y;
    while (left_panel > right_panel) left_panel -= ++right_panel;
    bool same = left_panel == right_panel;
    int warp = threadIdx.x / 32, left = warp % 4 * 32, right = warp / 4 * 32;
    int last_column = right_panel * PANEL + right, last_row = left_panel * PANEL + left;
    bool works = last_column < job.size && last_row < job.size && !(same && left > right);
    const float *left_cells = panels[0] + (left + lane() / 4) * STRIDE + lane() % 4;
    const float* right_cells = panels[same ? 0 : 1] + (right + lane() / 4) * STRIDE + lane() % 4;
    double sums[4][4][2] = {};
    int since_flush = 0;
    for (u64 block = blockIdx.x;; block += gridDim.x) {
        bool ends = block >= job.rows.blocks;
        if (works && (ends || since_flush == GRAM_BLOCKS_PER_FLUSH)) {
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j)
#pragma unroll
                    for (int k = 0; k < 2; ++k) {
                        u64 row = last_row + 8 * i + lane() / 4, column = last_column + 8 * j + lane() % 4 * 2 + k;
                        if (row <= column && column < job.size)
                            atomicAdd(&job.sums[column * (column + 1) / 2 + row], static_cast<u64>(static_cast<i64>(sums[i][j][k])));
                        sums[i][j][k] = 0.0;
                    }
        }
        if (since_flush == GRAM_BLOCKS_PER_FLUSH) since_flush = 0;
        if (ends) break;
        ++since_flush;
        __syncthreads();
        bring(job, block, left_panel, panels[0]);
        if (!same) bring(job, block, right_panel, panels[1]);
        __syncthreads();
        if (!works) continue;
#pragma unroll 2
        for (int k = 0; k < ROWS; k += 4) {
            double a[4], b[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                a[i] = left_cells[8 * i * STRIDE + k];
                b[i] = right_cells[8 * i * STRIDE + k];
            }
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) multiply(sums[i][j], a[i], b[j]);
        }
    }
}

namespace {

// Coordinates that a warp works out together.
constexpr int TOGETHER = 8;

}  // namespace

// Rows re-encoded through a matrix of whole numbers, `together` coordinates of an input after the
// other and filled up with zeros: exact sums, rounded once, ties to even. The response stays.
extern "C" __global__ void whiten(Rows rows, const double* matrix, int outputs, double step, float* out) {
    int warp = threadIdx.x / 32, warps = blockDim.x / 32, padded = (outputs + TOGETHER - 1) / TOGETHER * TOGETHER;
    for (u64 block = blockIdx.x; block < rows.blocks; block += gridDim.x) {
        const float* row = rows.block(block) + lane();
        float* to = out + block * (outputs + 1) * ROWS + lane();
        for (int first = warp * TOGETHER; first < outputs; first += warps * TOGETHER) {
            double sums[TOGETHER] = {};
#pragma unroll 4
            for (int j = 0; j < rows.features; ++j) {
                double x = row[j * ROWS];
                const double2* weights = reinterpret_cast<const double2*>(matrix + static_cast<u64>(j) * padded + first);
#pragma unroll
                for (int k = 0; k < TOGETHER / 2; ++k) {
                    double2 pair = __ldg(&weights[k]);
                    sums[2 * k] = fma(x, pair.x, sums[2 * k]);
                    sums[2 * k + 1] = fma(x, pair.y, sums[2 * k + 1]);
                }
            }
#pragma unroll
            for (int k = 0; k < TOGETHER; ++k) {
                double value = fmin(fmax(sums[k] * step, -LARGEST_CELL), LARGEST_CELL);
                if (first + k < outputs) to[(first + k) * ROWS] = static_cast<float>(__dsub_rn(__dadd_rn(value, WHOLE), WHOLE));
            }
        }
        if (warp == 0) to[outputs * ROWS] = row[rows.features * ROWS];
    }
}

// Reads a buffer as fast as it can be read, for measuring.
extern "C" __global__ void __launch_bounds__(512) plain_read(const uint4* buffer, u64 length, u64* out) {
    unsigned found = 0;
    u64 stride = static_cast<u64>(gridDim.x) * blockDim.x, place = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; place + 3 * stride < length; place += 4 * stride) {
        uint4 a = __ldcs(&buffer[place]), b = __ldcs(&buffer[place + stride]);
        uint4 c = __ldcs(&buffer[place + 2 * stride]), d = __ldcs(&buffer[place + 3 * stride]);
        found ^= a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w ^ c.x ^ c.y ^ c.z ^ c.w ^ d.x ^ d.y ^ d.z ^ d.w;
    }
    for (; place < length; place += stride) found ^= buffer[place].x;
    if (found == 0x9e3779b9u) atomicAdd(out, 1);
}
