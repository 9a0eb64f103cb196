/* A libnvidia-ml.so.1 that says what its environment says: NVML_driver, NVML_gpu0_name, NVML_gpu0_mig1_uuid ...
   A value "!18" is NVML's error 18; a missing one is NOT_SUPPORTED. NVML_init may also be "hang" or "crash". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUCCESS 0
#define NOT_SUPPORTED 3

static const char *said(const char *who, const char *what)
{
    char name[128];
    snprintf(name, sizeof name, *who ? "NVML_%s_%s" : "NVML_%s%s", who, what);
    return getenv(name);
}

static int text(const char *who, const char *what, char *out, unsigned length)
{
    const char *value = said(who, what);
    if (!value) return NOT_SUPPORTED;
    if (*value == '!') return atoi(value + 1);
    snprintf(out, length, "%s", value);
    return SUCCESS;
}

static int number(const char *who, const char *what, long long *out)
{
    const char *value = said(who, what);
    if (!value) return NOT_SUPPORTED;
    if (*value == '!') return atoi(value + 1);
    *out = atoll(value);
    return SUCCESS;
}

int nvmlInitWithFlags(unsigned flags)
{
    const char *value = said("", "init");
    (void)flags;
    if (!value) return SUCCESS;
    if (!strcmp(value, "hang")) sleep(60);
    if (!strcmp(value, "crash")) abort();
    return *value == '!' ? atoi(value + 1) : SUCCESS;
}

int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int code) { return code == 999 ? "Unknown \xff Error" : "an error of the stand-in"; }
int nvmlSystemGetDriverVersion(char *out, unsigned length) { return text("", "driver", out, length); }

static int integer(const char *who, const char *what, int *out)
{
    long long value = 0;
    int code = number(who, what, &value);
    *out = (int)value;
    return code;
}

int nvmlSystemGetCudaDriverVersion(int *out) { return integer("", "cuda", out); }
int nvmlDeviceGetCount_v2(int *out) { return integer("", "count", out); }

static int handle(const char *name, void **out)
{
    const char *value = said(name, "handle");
    *out = strdup(name);
    return value && *value == '!' ? atoi(value + 1) : SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out)
{
    char name[32];
    snprintf(name, sizeof name, "gpu%u", index);
    return handle(name, out);
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **out)
{
    char name[64];
    snprintf(name, sizeof name, "%s_mig%u", (char *)device, index);
    return said(name, "uuid") ? handle(name, out) : 6;
}

int nvmlDeviceGetName(void *device, char *out, unsigned length) { return text(device, "name", out, length); }
int nvmlDeviceGetUUID(void *device, char *out, unsigned length) { return text(device, "uuid", out, length); }
int nvmlDeviceGetBrand(void *device, int *out) { return integer(device, "brand", out); }
int nvmlDeviceGetMaxMigDeviceCount(void *device, int *out) { return integer(device, "most", out); }

int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor)
{
    int value = 0, code = integer(device, "cc", &value);
    *major = value / 10;
    *minor = value % 10;
    return code;
}

int nvmlDeviceGetMigMode(void *device, int *current, int *pending)
{
    int code = integer(device, "mode", current);
    *pending = *current;
    return code;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *info)
{
    long long value = 0;
    int code = number(device, "memory", &value);
    info[0] = (unsigned long long)value;
    return code;
}
