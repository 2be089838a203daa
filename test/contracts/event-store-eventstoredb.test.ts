import { eventStoreContract } from "./event-store-contract.ts"
import { EventStoreDbUnderTest } from "./event-store-eventstoredb-fixture.ts"

const eventStoreDb = new EventStoreDbUnderTest()

eventStoreContract("EventStoreDB 24.2, as the test server has it", async () =>
  eventStoreDb.open(await eventStoreDb.start()),
)
