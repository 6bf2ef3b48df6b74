import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { describeWith, NATS } from '../helpers/services.ts'
import { ATTEMPTS, testRecipe } from './cases.ts'
import { installed, startRecipe, writeRecipe } from './recipes.ts'

const QUEUE = `geohook-recipe-${process.pid}`

await describeWith(NATS, (servers) => {
  testRecipe({
    name: 'NATS JetStream',
    limit: 700 * 1024,
    duplicate: 200,
    afterKill: 2,
    miscounts: true, // before version 2.10.15: nats-server#5305 and #5338
    server: servers,
    async start(env, server) {
      const packages = installed('@nats-io/jetstream', '@nats-io/transport-node')
      const folder = writeRecipe('NATS JetStream', packages, [
        ['ATTEMPTS = 20', `ATTEMPTS = ${ATTEMPTS}`],
        ['1_000 * 2 ** attempt', '1_000'],
        ['ackWait = 30_000', 'ackWait = 3_000'],
      ])
      const recipe = await startRecipe(folder, { ...env, NATS_URL: server, QUEUE })
      const connection = await connect({ servers })
      const manager = await jetstreamManager(connection)
      return {
        url: recipe.url,
        kill: recipe.kill,
        push: async (text) => void (await jetstream(connection).publish(QUEUE, text)),
        async dead() {
          const { messages } = (await manager.streams.info(`${QUEUE}-dead`)).state
          const numbers = Array.from({ length: messages }, (_, index) => index + 1)
          const stored = numbers.map((seq) => manager.streams.getMessage(`${QUEUE}-dead`, { seq }))
          return (await Promise.all(stored)).map((message) => message?.string() ?? '')
        },
        pending: async () => (await manager.streams.info(QUEUE)).state.messages,
        async stop() {
          await recipe.stop()
          await manager.streams.delete(QUEUE)
          await manager.streams.delete(`${QUEUE}-dead`)
          await connection.close()
        },
      }
    },
  })
})
