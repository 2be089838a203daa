/** The settings of traces. */
import { describe, expect, it } from "vitest"
import { listSettings, readConfig } from "../../src/bootstrap/settings/config.ts"

describe("OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_TRACES_SAMPLER_ARG", () => {
  it("send no traces if unset or empty", () => {
    expect(readConfig({}).traces).toBeNull()
    expect(readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: "" }).traces).toBeNull()
  })

  it("name the collector and the sampled share", () => {
    const url = "https://collector.example:4318"
    const { traces } = readConfig({
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_TRACES_SAMPLER_ARG: "0.1",
    })
    expect(traces).toEqual({ url, sampleRatio: 0.1 })
  })

  it("are rejected if they are not an address or a share", () => {
    const wrong = { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318", OTEL_TRACES_SAMPLER_ARG: "2" }
    expect(() => readConfig(wrong)).toThrow(
      "OTEL_EXPORTER_OTLP_ENDPOINT must be an address such as http://localhost:4318.\n" +
        "OTEL_TRACES_SAMPLER_ARG must be a share from 0 to 1.",
    )
  })

  it("are shown without a password", () => {
    const shown = listSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: "https://me:s3cret@collector/" })
    const [endpoint] = shown.filter(({ name }) => name === "OTEL_EXPORTER_OTLP_ENDPOINT")
    expect(endpoint?.value).toBe("https://me:***@collector/")
  })
})
