#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <ostream>
#include <stdexcept>
#include <vector>

namespace stats {

// Counts values in buckets of equal width; what lies outside goes to the edges.
class Histogram {
public:
    Histogram(double low, double high, std::size_t buckets)
        : low_(low), width_((high - low) / static_cast<double>(buckets)), counts_(buckets, 0) {
        if (high <= low || buckets == 0) {
            throw std::invalid_argument("histogram: empty range");
        }
    }

    void add(double value, std::uint64_t weight = 1) {
        auto index = static_cast<std::int64_t>((value - low_) / width_);
        index = std::clamp<std::int64_t>(index, 0, static_cast<std::int64_t>(counts_.size()) - 1);
        counts_[static_cast<std::size_t>(index)] += weight;
        total_ += weight;
    }

    double quantile(double share) const {
        if (total_ == 0) {
            return low_;
        }
        auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(total_));
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            seen += counts_[i];
            if (seen > wanted) {
                return low_ + width_ * (static_cast<double>(i) + 0.5);
            }
        }
        return low_ + width_ * static_cast<double>(counts_.size());
    }

    void print(std::ostream &out, int columns = 40) const {
        const auto most = *std::max_element(counts_.begin(), counts_.end());
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            out << std::setw(10) << low_ + width_ * static_cast<double>(i) << " | ";
            const auto length = most == 0 ? 0 : counts_[i] * static_cast<std::uint64_t>(columns) / most;
            for (std::uint64_t k = 0; k < length; ++k) {
                out << '#';
            }
            out << ' ' << counts_[i] << '\n';
        }
    }

private:
    double low_;
    double width_;
    std::vector<std::uint64_t> counts_;
    std::uint64_t total_ = 0;
};

}  // namespace stats
