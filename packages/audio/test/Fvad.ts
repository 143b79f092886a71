import loadFvad from "@echogarden/fvad-wasm"
import { FvadPool } from "../src/FvadPool.ts"

export const fvad = async (): Promise<FvadPool> => new FvadPool(await loadFvad())
