/** WebRTC's voice activity detector in WebAssembly; the package has no types of its own. */
declare module "@echogarden/fvad-wasm" {
  const load: () => Promise<import("@svc/audio/FvadPool").FvadModule>
  export default load
}
