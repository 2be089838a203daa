import { Button, Checkbox, Select, Textarea } from "@mantine/core"
import type { UseFormReturnType } from "@mantine/form"
import { useState } from "react"
import type { Schema } from "../../api/api-client.ts"
import { responseData, useApi } from "../../api/api-client.ts"
import { ApiCallButton } from "../../parts/api-call-button.tsx"
import { ErrorAlert } from "../../parts/error-alert.tsx"

/** A campaign whose prerequisites are saved. */
export type ReadyCampaign = Extract<Schema<"Campaign">, { ready: true }>

type Values = {
  readonly brandType: string
  readonly description: string
  readonly messageFlow: string
  /** Separated by empty lines. */
  readonly samples: string
  readonly directLending: boolean
}

const samplesOf = (text: string): readonly string[] =>
  text
    .split(/\n\s*\n/)
    .map((one) => one.trim())
    .filter((one) => one !== "")

const between =
  (min: number, max: number) =>
  (text: string): string | null =>
    text.trim().length >= min && text.length <= max ? null : `Must be ${min} to ${max} characters`

/** A button with a form for the campaign, which starts from a draft. */
export function CampaignForm({ campaign }: { readonly campaign: ReadyCampaign }) {
  const { saved, brandType, description, messageFlow, samples, directLending } = campaign
  return (
    <ApiCallButton<Values>
      label={saved ? "Change" : "Write the campaign"}
      title="The campaign"
      description="The draft is made from the business and its pages."
      initialValues={{
        brandType: brandType ?? "low_volume",
        description: description ?? "",
        messageFlow: messageFlow ?? "",
        samples: samples.join("\n\n"),
        directLending: directLending ?? false,
      }}
      validators={{
        description: between(40, 4_096),
        messageFlow: between(40, 2_048),
        samples: (text) => {
          const count = samplesOf(text).length
          return count >= 2 && count <= 5 ? null : "Must be 2 to 5 texts, separated by empty lines"
        },
      }}
      changeOf={(values) => ({
        method: "PUT",
        path: "/api/v1/phone/campaign",
        body: { ...values, samples: samplesOf(values.samples) },
      })}
      fields={(form) => <Fields form={form} />}
      submitLabel="Save"
      successMessage="The campaign was saved. Send it for review next."
    />
  )
}

function Fields({ form }: { readonly form: UseFormReturnType<Values> }) {
  return (
    <>
      <FillInDraft form={form} />
      <Select
        label="Text volume"
        allowDeselect={false}
        data={[
          { value: "low_volume", label: "Low volume" },
          { value: "standard", label: "Standard" },
          { value: "sole_proprietor", label: "Sole proprietor" },
        ]}
        {...form.getInputProps("brandType")}
      />
      <Textarea
        label="Content and recipients of texts"
        autosize
        minRows={2}
        maxRows={8}
        {...form.getInputProps("description")}
      />
      <Textarea
        label="How people agree to texts"
        autosize
        minRows={3}
        maxRows={10}
        {...form.getInputProps("messageFlow")}
      />
      <Textarea
        label="Sample texts"
        description="2 to 5, separated by empty lines"
        autosize
        minRows={4}
        maxRows={12}
        {...form.getInputProps("samples")}
      />
      <Checkbox
        label="The company texts about its own loans"
        {...form.getInputProps("directLending", { type: "checkbox" })}
      />
    </>
  )
}

/** Fills the form with the server's draft, without saving it. */
function FillInDraft({ form }: { readonly form: UseFormReturnType<Values> }) {
  const api = useApi()
  const [error, setError] = useState<Error | null>(null)
  const fill = async () => {
    try {
      const draft = await responseData(api.POST("/api/v1/phone/campaign/draft"))
      const { description, messageFlow, samples, directLending } = draft
      form.setValues({ description, messageFlow, samples: samples.join("\n\n"), directLending })
      setError(null)
    } catch (thrown) {
      if (!(thrown instanceof Error)) throw thrown
      setError(thrown)
    }
  }
  return (
    <>
      <Button variant="default" onClick={() => void fill()}>
        Fill in with a draft
      </Button>
      {error === null ? null : <ErrorAlert error={error} />}
    </>
  )
}
