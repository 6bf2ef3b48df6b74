// A receiver in NestJS whose handlers call a service of the app. Controllers work as usual.
// Start it in this folder: npm install && SIGNATURE_KEY=<the webhook's signatureKey> npm start
// In your own app: npm install geohook
import 'reflect-metadata'
import { Body, Controller, Get, Inject, Module, Post } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { closeOnSignal, createReceiver } from 'geohook'
import { webhook } from 'geohook/express'

class Layers {
  readonly names: string[] = []
}

@Controller('layers')
class LayersController {
  @Inject(Layers) private readonly layers!: Layers

  @Get() list() {
    return this.layers.names
  }

  @Post() add(@Body() { name }: { name: string }) {
    this.layers.names.push(name)
    return { added: name }
  }
}

@Module({ controllers: [LayersController], providers: [Layers] })
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] })
const layers = app.get(Layers)

const receiver = createReceiver({
  signatureKey: process.env.SIGNATURE_KEY,
  observer: {
    refused: ({ error }) => console.log(`refused: ${error.code}. ${error.hint}`),
    failed: ({ error }) => console.error('failed:', error.cause),
  },
}).on('*', ({ changeType, service: { serviceName } }) => {
  layers.names.push(serviceName)
  console.log(`${changeType} on ${serviceName}`)
})

app.use('/hooks/parcels', webhook(receiver)) // before listen(), which adds the body parsers of NestJS
await app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
console.log(`listening on ${await app.getUrl()}/hooks/parcels`)

closeOnSignal(app.getHttpServer(), receiver, { after: () => app.close() })
