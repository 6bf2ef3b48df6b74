import { handle } from './fetch.ts'

declare const Bun: { serve(options: object): { port: number } }

console.log(`port ${Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: handle }).port}`)
