/** Packages stay outside, as is Vite's way for servers, or all goes into one file. */
export default ({ mode }) => ({
  build: { ssr: 'receiver.js', outDir: `out/${mode}`, minify: false },
  ssr: mode === 'bundled' ? { noExternal: true } : {},
})
