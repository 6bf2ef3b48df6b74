/** In the mode `bundled`, bundles everything into one file. Otherwise keeps packages external, Vite's default. */
export default ({ mode }) => ({
  build: { ssr: 'receiver.js', outDir: `out/${mode}`, minify: false },
  ssr: mode === 'bundled' ? { noExternal: true } : {},
})
