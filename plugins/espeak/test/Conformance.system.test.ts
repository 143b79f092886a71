import { textToSpeechSuite } from "@svc/providers/testing/TextToSpeechSuite"
import { Effect, Layer } from "effect"
import { describe } from "vitest"
import { fakeProgram, speaksTone } from "./FakeProgram.ts"
import { absent, isInstalled, layerOf } from "./Spoken.ts"

const faulty = (speaks: string) => Layer.unwrapScoped(Effect.map(fakeProgram(speaks), ({ path }) => layerOf(path)))

const faults = {
  refuses: faulty('echo "Error: no" >&2; exit 1'),
  hangs: faulty("exec sleep 60"),
  closesEarly: faulty('head -c 20000 "$folder/tone.wav"; kill -9 $$'),
  sendsGarbage: faulty("exec head -c 100000 /dev/zero")
}

describe.skipIf(!isInstalled)(isInstalled ? "the real program" : absent, () => {
  textToSpeechSuite({ name: "espeak-ng", layer: layerOf("espeak-ng"), faults, sessions: 60 })
})

textToSpeechSuite({ name: "a program like espeak-ng", layer: faulty(speaksTone), faults, sessions: 60 })
