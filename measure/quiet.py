"""The quiet-machine guard: whether a set of samples was taken while others used the processors."""

from dataclasses import asdict, dataclass
from pathlib import Path

TICKS = 100.0  # USER_HZ


@dataclass(frozen=True)
class Noise:
    """Cores that others kept busy, share of samples thrown off a processor, relative widths of the interval and of the baseline."""

    other_cores: float
    forced: float
    width: float
    spread: float

    def reasons(self) -> list[str]:
        """Why the numbers are not to be trusted to a few per cent; empty on a quiet machine."""
        checks = (
            (self.other_cores > 0.5, f"other processes used {self.other_cores:.2f} cores"),
            (self.forced > 0.5, f"{100 * self.forced:.0f} % of the samples were forced off a processor"),
            (self.width > 0.15, f"the interval is {100 * self.width:.0f} % wide"),
            (self.spread > 0.3, f"the baseline spreads by {100 * self.spread:.0f} %"),
        )
        return [text for bad, text in checks if bad]

    def rounded(self) -> dict[str, float]:
        """For the record."""
        return {name: round(value, 4) for name, value in asdict(self).items()}


def busy_s() -> float:
    """Seconds that the machine's processors have been busy or stolen since boot (0 where unknown)."""
    try:
        ticks = [int(x) for x in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    except (OSError, ValueError, IndexError):
        return 0.0
    return (sum(ticks) - ticks[3] - ticks[4]) / TICKS
