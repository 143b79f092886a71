import { configDefaults, defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import base from "./vitest.config.ts"

/** The files that take over 40 s, those that wait between those that compute. One that began last would run alone at the end. */
const longest = [
  ...["Demo", "Image", "Echo", "VendorKeys", "Plugin", "BrowserCalls", "SipSpeech", "HostilePlugin", "SpeechInNoise"],
  ...["SipCalls", "Alignment", "NumberCommands", "EmbeddedPostgres", "Telnyx", "Recording", "SpeechOnBadLines"],
  ...["StoredSecrets", "OpenAiStreaming", "Recorder", "Tracing", "DemoVoice", "ChatCommand", "Deepgram", "Terminal"]
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
    sequence: { sequencer: LongestFirst }
  }
})
