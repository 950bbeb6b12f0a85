import Foundation

struct Track: Hashable {
    let title: String
    let artist: String
    let seconds: Int
}

enum RepeatMode {
    case off
    case one
    case all
}

/// A queue of tracks that remembers what was played.
final class Playlist {
    private(set) var tracks: [Track] = []
    private var history: [Track] = []
    private var position = 0
    var repeatMode: RepeatMode = .off

    var duration: Int {
        tracks.reduce(0) { $0 + $1.seconds }
    }

    func append(_ track: Track, allowingDuplicates: Bool = false) {
        guard allowingDuplicates || !tracks.contains(track) else {
            return
        }
        tracks.append(track)
    }

    func next() -> Track? {
        guard !tracks.isEmpty else {
            return nil
        }
        switch repeatMode {
        case .one:
            break // the same once more
        case .all:
            position = (position + 1) % tracks.count
        case .off:
            guard position + 1 < tracks.count else {
                return nil
            }
            position += 1
        }
        let track = tracks[position]
        history.append(track)
        return track
    }

    func remove(at index: Int) throws {
        guard tracks.indices.contains(index) else {
            throw PlaylistError.noSuchTrack(index)
        }
        tracks.remove(at: index)
        if index < position {
            position -= 1
        }
    }

    func recentArtists(limit: Int = 5) -> [String] {
        var seen = Set<String>()
        return history.reversed().map(\.artist).filter { seen.insert($0).inserted }.prefix(limit).map { $0 }
    }
}

enum PlaylistError: Error {
    case noSuchTrack(Int)
}
