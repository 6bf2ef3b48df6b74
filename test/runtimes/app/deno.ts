import { handle } from './fetch.ts'

declare const Deno: { serve(options: object, handler: typeof handle): unknown }

const onListen = ({ port }: { port: number }): void => console.log(`port ${port}`)
Deno.serve({ port: 0, hostname: '127.0.0.1', onListen }, handle)
