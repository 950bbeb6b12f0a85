package garden

import java.time.Duration
import java.time.Instant

/** A bed that is watered by a valve of its own. */
data class Bed(val name: String, val litersPerHour: Double, val crop: Crop)

enum class Crop(val thirst: Int) {
    TOMATO(5),
    LETTUCE(3),
    ROSEMARY(1),
}

class Irrigation(private val clock: () -> Instant, private val tank: Tank) {
    private val beds = mutableMapOf<String, Bed>()
    private val watered = mutableMapOf<String, Instant>()

    fun plant(bed: Bed) {
        require(bed.litersPerHour > 0) { "a valve gives water: ${bed.name}" }
        beds[bed.name] = bed
    }

    // Thirsty beds come first, of these the one that waited longest.
    fun next(): Bed? {
        val now = clock()
        return beds.values
            .filter { due(it, now) }
            .sortedWith(compareByDescending<Bed> { it.crop.thirst }.thenBy { watered[it.name] })
            .firstOrNull()
    }

    fun water(bed: Bed, duration: Duration): Double {
        val wanted = bed.litersPerHour * duration.toMinutes() / 60.0
        val given = tank.take(wanted)
        if (given < wanted) {
            println("tank is empty, ${bed.name} got $given of $wanted liters")
        }
        watered[bed.name] = clock()
        return given
    }

    private fun due(bed: Bed, now: Instant): Boolean {
        val last = watered[bed.name] ?: return true
        val pause = when (bed.crop) {
            Crop.TOMATO -> Duration.ofHours(12)
            Crop.LETTUCE -> Duration.ofHours(24)
            Crop.ROSEMARY -> Duration.ofDays(4)
        }
        return Duration.between(last, now) >= pause
    }
}

class Tank(private var liters: Double) {
    fun take(wanted: Double): Double {
        val given = minOf(wanted, liters)
        liters -= given
        return given
    }

    fun refill(amount: Double) {
        liters += amount
    }
}
