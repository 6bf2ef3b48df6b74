/** By mode, keeps packages external, which is Vite's default for servers, or bundles everything into one file. */
export default ({ mode }) => ({
  build: { ssr: 'receiver.js', outDir: `out/${mode}`, minify: false },
  ssr: mode === 'bundled' ? { noExternal: true } : {},
})
