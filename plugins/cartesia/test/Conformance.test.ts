import { streamedSpeechSuite } from "@svc/providers/testing/StreamedSpeechSuite"
import { speaks } from "../src/testing/EmulatedCartesia.ts"
import { speechOf } from "./Provided.ts"

streamedSpeechSuite({ name: "Cartesia", speechOf, speaks })
