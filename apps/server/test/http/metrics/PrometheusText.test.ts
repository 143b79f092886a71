import { describe, expect, it } from "@effect/vitest"
import { Effect, Metric, MetricBoundaries } from "effect"
import { familiesOf, textOf } from "../../../src/http/metrics/PrometheusText.ts"

/** The lines of the metrics with this name, of all that this process has. */
const linesOf = (name: string) =>
  Effect.map(Metric.snapshot, (snapshot) =>
    textOf(familiesOf(snapshot).filter((family) => family.name === name))
      .trim()
      .split("\n")
  )

describe("the text form of metrics", () => {
  it.effect("has a counter with its help, its type, and one line for each set of labels", () =>
    Effect.gen(function* () {
      const metric = Metric.counter("text_test_total", { description: "What is counted.", incremental: true })
      Metric.tagged(metric, "reason", "one").unsafeUpdate(2, [])
      Metric.tagged(metric, "reason", 'a "quoted" \\ text\nin two lines').unsafeUpdate(1, [])
      expect(yield* linesOf("text_test_total")).toEqual([
        "# HELP text_test_total What is counted.",
        "# TYPE text_test_total counter",
        expect.stringMatching(/^text_test_total\{/),
        expect.stringMatching(/^text_test_total\{/)
      ])
      const lines = yield* linesOf("text_test_total")
      expect(lines).toContain('text_test_total{reason="one"} 2')
      expect(lines).toContain('text_test_total{reason="a \\"quoted\\" \\\\ text\\nin two lines"} 1')
    })
  )

  it.effect("has a gauge without labels", () =>
    Effect.gen(function* () {
      Metric.gauge("text_test_level").unsafeUpdate(-1.5, [])
      expect(yield* linesOf("text_test_level")).toEqual(["# TYPE text_test_level gauge", "text_test_level -1.5"])
    })
  )

  it.effect("has a histogram with cumulative buckets up to +Inf, its sum and its count", () =>
    Effect.gen(function* () {
      const metric = Metric.histogram("text_test_seconds", MetricBoundaries.fromIterable([0.1, 1]))
      for (const value of [0.05, 0.5, 0.75, 7]) Metric.tagged(metric, "stage", "a").unsafeUpdate(value, [])
      expect(yield* linesOf("text_test_seconds")).toEqual([
        "# TYPE text_test_seconds histogram",
        'text_test_seconds_bucket{stage="a",le="0.1"} 1',
        'text_test_seconds_bucket{stage="a",le="1"} 3',
        'text_test_seconds_bucket{stage="a",le="+Inf"} 4',
        'text_test_seconds_sum{stage="a"} 8.3',
        'text_test_seconds_count{stage="a"} 4'
      ])
    })
  )

  it("takes the last of two samples with the same labels, and sorts by name", () => {
    const labels = { a: "1" }
    const text = textOf([
      { name: "b", type: "gauge", help: "", samples: [{ value: Infinity }] },
      {
        name: "a",
        type: "gauge",
        help: "two\nlines",
        samples: [
          { labels, value: 1 },
          { labels, value: 2 }
        ]
      }
    ])
    expect(text).toBe('# HELP a two\\nlines\n# TYPE a gauge\na{a="1"} 2\n# TYPE b gauge\nb +Inf\n')
  })
})
