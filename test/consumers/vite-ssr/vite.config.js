/** Keeps packages external, Vite's default for servers, or bundles everything into one file. */
export default ({ mode }) => ({
  build: { ssr: 'receiver.js', outDir: `out/${mode}`, minify: false },
  ssr: mode === 'bundled' ? { noExternal: true } : {},
})
