import { availableParallelism } from "node:os"
import { configDefaults, defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import base from "./vitest.config.ts"

// Three at least: most files wait more than they compute, and the builds of Image and Plugin have low priority. With four, two
// slow processors were too busy for the tests that keep time.
const processes = Math.max(3, Math.floor(availableParallelism() / 2))

/**
 * The files that take over 20 s. One that began last would run alone at the end. Image and Plugin build with low priority, so
 * first come Image and files that wait, and Plugin when Image is over; files that compute come after both.
 */
const longest = [
  ...["Image", "Demo", "VendorKeys", "SipCalls", "HostilePlugin", "BrowserCalls", "EmbeddedPostgres", "Deepgram"],
  ...["NumberCommands", "OpenAiStreaming", "Operations", "Tracing", "Plugin", "Echo", "Command", "SourceReader"],
  ...["Alignment", "Recording", "SpeechInNoise", "TextMessages", "S3Recording", "BaresipMedia", "Crash", "DemoVoice"],
  ...["SpeechOnBadLines", "Terminal", "NumberOrders", "AddressCarrier", "SipSpeech", "Telnyx", "Recorder"],
  ...["ChatCommand", "StoredSecrets", "Conformance"]
].map((name) => `/${name}.system.test.ts`)

/** Begins with the longest files. Vitest knows how long files take only where they ran before. */
class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = longest.findIndex((name) => moduleId.endsWith(name))
      return index < 0 ? longest.length : index
    }
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other))
  }
}

// `npm run test:system`: slow tests, and those that start, kill and restart whole programs and database servers.
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ["**/test/**/*.system.test.ts"],
    exclude: configDefaults.exclude,
    testTimeout: 90_000,
    minWorkers: processes,
    maxWorkers: processes,
    sequence: { sequencer: LongestFirst }
  }
})
