import { textNetwork } from "./TextNetwork.mjs"

export default textNetwork("texts-often", false)
