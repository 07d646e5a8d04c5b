// The negative gradient sum `sum_i X_i clamp(r_i, -B_i, B_i)` in one reading of the rows, for cards
// with bulk copies (compute capability 9).
//
// One block of threads stays on each multiprocessor. Its warps form teams; a team has a ring of
// places in shared memory, takes one tile of row blocks after the other, and asks for the next
// tiles while it works. A row block has 32 rows and lies column by column, the response last. A
// warp has a slice of the columns, and a lane four rows of every fourth column of it; where there
// are few columns, a lane has a whole row.
//
// Everything is exact. Residuals stay below 2^53 (`Lattice::plan`), whatever the order of a sum.
// Products are summed in `double` and moved to integers before they could pass 2^53: the host says
// after how many row blocks. Integers are kept in two limbs of 32 bits and what they carry.

#include <cstdint>

typedef unsigned long long u64;
typedef long long i64;

namespace {

constexpr unsigned ALL = 0xffffffffu;
constexpr int ROWS = 32;
// Columns of a lane that are passed over together where a slice has fewer.
constexpr int CHUNK = 3;
// The upper half of a weight is a multiple of 2^27.
constexpr double HALF = 134217728.0;

struct Job {
    const float* cells;
    const float* bounds;
    // -theta, then the unit of theta for the response.
    const double* theta;
    // For each part (lower half, upper half) and each coefficient: the lower and the upper limb.
    u64* limbs;
    // As many for each block of threads, zeros before and after.
    u64* areas;
    u64 blocks;
    // Coefficients and the response.
    int columns;
    int warps_per_team;
    int blocks_per_tile;
    int stages;
    int blocks_per_flush;
};

__device__ __forceinline__ uint32_t address(const void* shared) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

__device__ __forceinline__ void open_barrier(u64* barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(barrier)) : "memory");
}

__device__ __forceinline__ void expect(u64* barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(barrier)), "r"(bytes) : "memory");
}

__device__ __forceinline__ void copy(void* to, const void* from, uint32_t bytes, u64* barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(address(to)),
                 "l"(from), "r"(bytes), "r"(address(barrier))
                 : "memory");
}

__device__ __forceinline__ void wait(u64* barrier, uint32_t parity) {
    uint32_t done;
    do {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done)
            : "r"(address(barrier)), "r"(parity)
            : "memory");
    } while (!done);
}

__device__ __forceinline__ void meet_team(int team, int warps) {
    asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "r"(warps * 32) : "memory");
}

__device__ __forceinline__ double limited(double value, double bound) { return fmin(fmax(value, -bound), bound); }

// Takes the multiple of 2^27 away from a weight and gives it without that factor: both parts have
// at most 26 bits. Adding 1.5 2^52 leaves no bits for a fraction.
__device__ __forceinline__ double take_upper(double& weight) {
    constexpr double WHOLE = 6755399441055744.0;
    double upper = __dsub_rn(fma(weight, 1.0 / HALF, WHOLE), WHOLE);
    weight = fma(-HALF, upper, weight);
    return upper;
}

// Four lanes have sums over some columns for the same four rows: gives each of them the sum over
// all of one row.
__device__ __forceinline__ double own_row(const double (&sums)[4], int other) {
    bool odd = other & 1, high = other & 2;
    double first = odd ? sums[1] : sums[0], second = odd ? sums[3] : sums[2];
    first += __shfl_xor_sync(ALL, odd ? sums[0] : sums[1], 8);
    second += __shfl_xor_sync(ALL, odd ? sums[2] : sums[3], 8);
    return (high ? second : first) + __shfl_xor_sync(ALL, high ? first : second, 16);
}

__device__ __forceinline__ void add(u64* limbs, i64 value) {
    atomicAdd(&limbs[0], static_cast<u64>(static_cast<uint32_t>(value)));
    atomicAdd(&limbs[1], static_cast<u64>(value >> 32));
}

__device__ __forceinline__ double times(float4 cells, const double (&weights)[4], double sum) {
    sum = fma(static_cast<double>(cells.x), weights[0], sum);
    sum = fma(static_cast<double>(cells.y), weights[1], sum);
    sum = fma(static_cast<double>(cells.z), weights[2], sum);
    return fma(static_cast<double>(cells.w), weights[3], sum);
}

// Where a thread is.
struct Place {
    int lane, warp, team, of_team, teams;
    bool leads;

    __device__ Place(int warps_per_team, int warps) {
        lane = threadIdx.x % 32;
        warp = threadIdx.x / 32;
        team = warp / warps_per_team;
        of_team = warp % warps_per_team;
        teams = warps / warps_per_team;
        leads = of_team == 0 && lane == 0;
    }
};

// The tiles of a team, and its places for them.
struct Ring {
    const Job& job;
    char* places;
    u64* barriers;
    u64 first, stride, tiles;
    uint32_t tile_bytes;
    // Where what is in shared memory ends: rings, then barriers.
    size_t end;

    __device__ Ring(const Job& job, const Place& at, char* shared) : job(job) {
        uint32_t block_bytes = (job.columns + 1) * ROWS * sizeof(float);
        tile_bytes = job.blocks_per_tile * block_bytes;
        size_t ring_bytes = static_cast<size_t>(job.stages) * tile_bytes, barrier_bytes = (job.stages + 1) / 2 * 16;
        places = shared + at.team * ring_bytes;
        barriers = reinterpret_cast<u64*>(shared + at.teams * ring_bytes + at.team * barrier_bytes);
        end = at.teams * (ring_bytes + barrier_bytes);
        first = static_cast<u64>(blockIdx.x) * at.teams + at.team;
        stride = static_cast<u64>(gridDim.x) * at.teams;
        tiles = (job.blocks + job.blocks_per_tile - 1) / job.blocks_per_tile;
    }

    __device__ int blocks_of(u64 tile) const {
        u64 left = job.blocks - tile * job.blocks_per_tile;
        return left < job.blocks_per_tile ? static_cast<int>(left) : job.blocks_per_tile;
    }

    __device__ const float* cells(int stage) const { return reinterpret_cast<const float*>(places + stage * tile_bytes); }

    __device__ const float* bounds(int stage) const { return cells(stage) + job.blocks_per_tile * job.columns * ROWS; }

    // Asks for the tile that a team works on in its turn `turn`.
    __device__ void ask(u64 turn, int stage) const {
        u64 tile = first + turn * stride;
        if (tile >= tiles) return;
        int blocks = blocks_of(tile);
        uint32_t bound_bytes = blocks * ROWS * sizeof(float), cell_bytes = bound_bytes * job.columns;
        expect(&barriers[stage], cell_bytes + bound_bytes);
        u64 block = tile * job.blocks_per_tile;
        copy(const_cast<float*>(cells(stage)), job.cells + block * job.columns * ROWS, cell_bytes, &barriers[stage]);
        copy(const_cast<float*>(bounds(stage)), job.bounds + block * ROWS, bound_bytes, &barriers[stage]);
    }
};

// A lane has four rows of every fourth column of its warp's slice, `Q` columns in all.
template <int Q, bool HALVES>
struct Slices {
    static constexpr int PARTS = HALVES ? 2 : 1;
    double theta[Q], lower[Q], upper[HALVES ? Q : 1];
    int limit, rows_of, column_of, start;

    __device__ Slices(const Job& job, const Place& at) {
        // As wide as needed, and a multiple of the four columns that lanes have at a time.
        int width = (job.columns + 4 * job.warps_per_team - 1) / (4 * job.warps_per_team) * 4;
        rows_of = at.lane % 8;
        column_of = at.lane / 8;
        start = at.of_team * width;
        limit = min(width, job.columns - start) - column_of;
#pragma unroll
        for (int q = 0; q < Q; ++q) theta[q] = 4 * q < limit ? job.theta[start + 4 * q + column_of] : 0.0;
        clear();
    }

    __device__ void clear() {
#pragma unroll
        for (int q = 0; q < Q; ++q) {
            lower[q] = 0.0;
            if (HALVES) upper[q] = 0.0;
        }
    }

    __device__ const float4* cells(const float* block) const {
        return reinterpret_cast<const float4*>(block) + (start + column_of) * 8 + rows_of;
    }

    // The residual of one of the lane's four rows, as far as the columns of the warp go.
    __device__ double residual(const float* block) const {
        double sums[4] = {0.0, 0.0, 0.0, 0.0};
        const float4* cells = this->cells(block);
#pragma unroll
        for (int first = 0; first < Q; first += CHUNK) {
            if (4 * first >= limit) break;
#pragma unroll
            for (int q = first; q < first + CHUNK && q < Q; ++q) {
                if (4 * q < limit) {
                    float4 x = cells[q * 32];
                    sums[0] = fma(static_cast<double>(x.x), theta[q], sums[0]);
                    sums[1] = fma(static_cast<double>(x.y), theta[q], sums[1]);
                    sums[2] = fma(static_cast<double>(x.z), theta[q], sums[2]);
                    sums[3] = fma(static_cast<double>(x.w), theta[q], sums[3]);
                }
            }
        }
        __syncwarp();
        return own_row(sums, column_of);
    }

    __device__ void add_products(const float* block, const float* bounds, double residual) {
        double weight = limited(residual, bounds[4 * rows_of + column_of]), weights[4], uppers[4];
#pragma unroll
        for (int row = 0; row < 4; ++row) {
            weights[row] = __shfl_sync(ALL, weight, rows_of + 8 * row);
            uppers[row] = HALVES ? take_upper(weights[row]) : 0.0;
        }
        const float4* cells = this->cells(block);
#pragma unroll
        for (int first = 0; first < Q; first += CHUNK) {
            if (4 * first >= limit) break;
#pragma unroll
            for (int q = first; q < first + CHUNK && q < Q; ++q) {
                if (4 * q < limit) {
                    float4 x = cells[q * 32];
                    lower[q] = times(x, weights, lower[q]);
                    if (HALVES) upper[q] = times(x, uppers, upper[q]);
                }
            }
        }
        __syncwarp();
    }

    __device__ void add_block(const float* block, const float* bounds) {
        add_products(block, bounds, residual(block));
    }

    __device__ void flush_part(const double (&sums)[Q], const Job& job, u64* limbs) {
#pragma unroll
        for (int q = 0; q < Q; ++q) {
            // Eight sums of at most 2^53. That of the response is not a gradient's, and may be
            // anything.
            i64 sum = static_cast<i64>(sums[q]);
            sum += __shfl_xor_sync(ALL, sum, 1);
            sum += __shfl_xor_sync(ALL, sum, 2);
            sum += __shfl_xor_sync(ALL, sum, 4);
            int column = start + 4 * q + column_of;
            if (rows_of == 0 && column < job.columns - 1) add(&limbs[2 * column], sum);
        }
    }

    __device__ void flush(const Job& job, u64* limbs) {
        flush_part(lower, job, limbs);
        if constexpr (HALVES) flush_part(upper, job, limbs + 2 * (job.columns - 1));
        clear();
    }
};

// Few columns, `COLUMNS` or up to three fewer: a lane has one row, and all of its cells.
template <int COLUMNS, bool HALVES>
struct Whole {
    static constexpr int PARTS = HALVES ? 2 : 1;
    double theta[COLUMNS], lower[COLUMNS - 1], upper[HALVES ? COLUMNS - 1 : 1];
    int lane, columns;

    __device__ Whole(const Job& job, const Place& at) : lane(at.lane) {
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) theta[j] = j < job.columns ? job.theta[j] : 0.0;
        columns = job.columns;
        clear();
    }

    __device__ void clear() {
#pragma unroll
        for (int j = 0; j < COLUMNS - 1; ++j) {
            lower[j] = 0.0;
            if (HALVES) upper[j] = 0.0;
        }
    }

    __device__ void add_block(const float* block, const float* bounds) {
        double x[COLUMNS], weight = 0.0;
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
            x[j] = j < COLUMNS - 3 || j < columns ? block[j * ROWS + lane] : 0.0f;
            weight = fma(x[j], theta[j], weight);
        }
        weight = limited(weight, bounds[lane]);
        double above = HALVES ? take_upper(weight) : 0.0;
#pragma unroll
        for (int j = 0; j < COLUMNS - 1; ++j) {
            lower[j] = fma(x[j], weight, lower[j]);
            if (HALVES) upper[j] = fma(x[j], above, upper[j]);
        }
    }

    __device__ void flush_part(const double* sums, u64* limbs) {
#pragma unroll
        for (int j = 0; j < COLUMNS - 1; ++j) {
            // 32 sums of at most 2^53.
            i64 sum = static_cast<i64>(sums[j]);
#pragma unroll
            for (int other = 1; other < 32; other *= 2) sum += __shfl_xor_sync(ALL, sum, other);
            if (lane == 0 && j < columns - 1) add(&limbs[2 * j], sum);
        }
    }

    __device__ void flush(const Job&, u64* limbs) {
        flush_part(lower, limbs);
        if constexpr (HALVES) flush_part(upper, limbs + 2 * (columns - 1));
        clear();
    }
};

// Adds up the residuals of a team's warps, each of which has seen a slice of the columns.
__device__ __forceinline__ double sum_over_team(double mine, double* partial, const Place& at, int warps) {
    partial[at.of_team * ROWS + at.lane] = mine;
    meet_team(at.team, warps);
    double even = 0.0, odd = 0.0;
#pragma unroll 4
    for (int warp = 0; warp < warps; warp += 2) {
        even += partial[warp * ROWS + at.lane];
        odd += partial[(warp + 1) * ROWS + at.lane];
    }
    return even + odd;
}

// The limbs of this block of threads.
__device__ __forceinline__ u64* area_of(const Job& job, int parts) {
    return job.areas + static_cast<u64>(blockIdx.x) * parts * 2 * (job.columns - 1);
}

// Adds the limbs of this block of threads to the sum.
__device__ __forceinline__ void give(const Job& job, u64* area, int parts) {
    __threadfence();
    __syncthreads();
    for (int i = threadIdx.x; i < parts * 2 * (job.columns - 1); i += blockDim.x) {
        atomicAdd(&job.limbs[i], __ldcg(&area[i]));
        __stcg(&area[i], 0);
    }
}

__device__ __forceinline__ void start_ring(const Ring& ring, const Place& at) {
    if (at.leads) {
        for (int stage = 0; stage < ring.job.stages; ++stage) open_barrier(&ring.barriers[stage]);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        for (int stage = 0; stage < ring.job.stages; ++stage) ring.ask(stage, stage);
    }
    __syncthreads();
}

// A team is one warp, and a tile several row blocks.
template <class Sums>
__device__ __forceinline__ void run_alone(const Job& job, char* shared) {
    Place at(1, blockDim.x / 32);
    Ring ring(job, at, shared);
    Sums sums(job, at);
    start_ring(ring, at);
    u64 *area = area_of(job, Sums::PARTS), tile = ring.first, turn = 0;
    int stage = 0, block = 0, since_flush = 0;
    uint32_t parity = 0;
    while (true) {
        if (since_flush == job.blocks_per_flush || tile >= ring.tiles) {
            sums.flush(job, area);
            since_flush = 0;
        }
        if (tile >= ring.tiles) break;
        if (block == 0) wait(&ring.barriers[stage], parity);
        sums.add_block(ring.cells(stage) + block * job.columns * ROWS, ring.bounds(stage) + block * ROWS);
        ++since_flush;
        if (++block < ring.blocks_of(tile)) continue;
        __syncwarp();
        if (at.leads) ring.ask(turn + job.stages, stage);
        block = 0;
        ++turn;
        tile += ring.stride;
        if (++stage == job.stages) {
            stage = 0;
            parity ^= 1;
        }
    }
    give(job, area, Sums::PARTS);
}

// A team has several warps, and a tile is one row block. When all warps have brought their
// residuals of a tile, they are done with the one before: its place is free.
template <int Q, bool HALVES>
__device__ __forceinline__ void run_team(const Job& job, char* shared) {
    Place at(job.warps_per_team, blockDim.x / 32);
    Ring ring(job, at, shared);
    Slices<Q, HALVES> slices(job, at);
    start_ring(ring, at);
    double* partial = reinterpret_cast<double*>(shared + ring.end) + at.team * 2 * job.warps_per_team * ROWS;
    u64 *area = area_of(job, slices.PARTS), tile = ring.first, turn = 0;
    int stage = 0, before = 0, since_flush = 0;
    uint32_t parity = 0;
    while (true) {
        if (since_flush == job.blocks_per_flush || tile >= ring.tiles) {
            slices.flush(job, area);
            since_flush = 0;
        }
        if (tile >= ring.tiles) break;
        wait(&ring.barriers[stage], parity);
        double mine = slices.residual(ring.cells(stage)), *place = partial + (turn % 2) * job.warps_per_team * ROWS;
        double residual = sum_over_team(mine, place, at, job.warps_per_team);
        if (at.leads && turn > 0) ring.ask(turn - 1 + job.stages, before);
        slices.add_products(ring.cells(stage), ring.bounds(stage), residual);
        ++since_flush;
        ++turn;
        tile += ring.stride;
        before = stage;
        if (++stage == job.stages) {
            stage = 0;
            parity ^= 1;
        }
    }
    give(job, area, slices.PARTS);
}

}  // namespace

extern __shared__ __align__(128) char shared_memory[];

#define KERNEL(NAME, THREADS, RUN) \
    extern "C" __global__ void __launch_bounds__(THREADS, 1) NAME(const __grid_constant__ Job job) { RUN(job, shared_memory); }
#define WHOLE(COLUMNS, THREADS) \
    KERNEL(step_whole_##COLUMNS, THREADS, (run_alone<Whole<COLUMNS, false>>)) \
    KERNEL(step_whole_##COLUMNS##_halves, THREADS, (run_alone<Whole<COLUMNS, true>>))
#define ALONE(Q, THREADS) \
    KERNEL(step_alone_##Q, THREADS, (run_alone<Slices<Q, false>>)) \
    KERNEL(step_alone_##Q##_halves, THREADS, (run_alone<Slices<Q, true>>))
#define TEAM(Q) \
    KERNEL(step_team_##Q, 512, (run_team<Q, false>)) \
    KERNEL(step_team_##Q##_halves, 512, (run_team<Q, true>))

WHOLE(4, 512) WHOLE(8, 512) WHOLE(12, 512) WHOLE(16, 512) WHOLE(20, 256) WHOLE(24, 256)
ALONE(8, 512) ALONE(13, 384)
TEAM(8) TEAM(13)
