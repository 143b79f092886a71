import { languageModelSuite } from "@svc/providers/testing/LanguageModelSuite"
import { answerError, chatWith, chunk, stream, words, works } from "./EmulatedServer.ts"
import { modelAt, modelOf } from "./Provided.ts"

const tool = (name: string) => ({ name, description: name, parameters: { type: "object" } })

languageModelSuite({
  name: "the model of an OpenAI-compatible server",
  layer: modelOf(works),
  text: { prompt: { messages: [{ role: "user", content: "Count" }] }, says: words.join("") },
  tools: {
    prompt: { messages: [{ role: "user", content: "Please book" }], tools: [tool("find"), tool("book")] },
    calls: [
      { name: "find", arguments: { day: "Monday" } },
      { name: "book", arguments: { at: 10 } }
    ]
  },
  sessions: 200,
  faults: {
    refuses: modelOf(chatWith((_, response) => answerError(response, 500, "no"))),
    hangs: modelOf(chatWith(() => {})),
    closesEarly: modelOf(
      chatWith((_, response) => stream(response, [chunk({ content: "One" })], 5, () => response.destroy()))
    ),
    sendsGarbage: modelOf(chatWith((_, response) => stream(response, ["data: {\n\n", "\u0000\u0001 garbage"])))
  }
})

languageModelSuite({
  name: "the model of a server that is not there",
  layer: modelOf(works),
  text: { prompt: { messages: [{ role: "user", content: "Count" }] } },
  sessions: 20,
  faults: { refuses: modelAt("http://127.0.0.1:9/v1") }
})
