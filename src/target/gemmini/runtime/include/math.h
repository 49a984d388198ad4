/* math.h - for candidate programs: what the compiler folds or the core computes in one instruction.
 * With constant arguments the compiler also folds the functions without a definition here. */
#ifndef _MATH_H
#define _MATH_H

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define M_PI 3.14159265358979323846

double sqrt(double value);
float sqrtf(float value);
double fabs(double value);
float fabsf(float value);
double fmin(double a, double b);
float fminf(float a, float b);
double fmax(double a, double b);
float fmaxf(float a, float b);
double floor(double value);
float floorf(float value);
double ceil(double value);
float ceilf(float value);
double round(double value);
float roundf(float value);
double rint(double value);
float rintf(float value);

#endif
