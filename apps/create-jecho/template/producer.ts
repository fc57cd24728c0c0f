import { connect } from "@jecho/client";
import { Field } from "./field.ts";
import { advance, columns, rows, values } from "./model.ts";

/** Runs the model, and raises each step for whoever looks. */
export async function produce(address: string): Promise<void> {
  const session = connect(address);
  const producer = await session.channel("model/field", Field).produce();
  let step = 0;
  setInterval(() => {
    advance();
    step++;
    if (producer.demand.total > 0) producer.publish({ step, rows, columns, values });
  }, 100);
}
